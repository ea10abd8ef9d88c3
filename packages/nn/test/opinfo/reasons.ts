import type { Sample } from './sample.ts';

/** Reasons for which ringrun rejects a call that torch computes: the pattern of ringrun's message, and the text of the page. */
const refusals: readonly (readonly [message: RegExp, reason: string])[] = [
  [/^(MatMul|Gemm|linear): expected .*(int64|bool)/, 'Products of integer matrices: call `float()` first.'],
  [
    /^(Conv|ConvTranspose|AveragePool|MaxPool): expected float32/,
    'Convolutions and pools of integers: call `float()` first.',
  ],
  [
    / is not an option\. Its options are/,
    'An option that the module does not have; the error lists its options.',
  ],
  [/stride must be one integer or \d, got \./, 'An empty list as `stride`: leave it out.'],
  [/gridSample: mode must be/, "`gridSample` has no mode 'bicubic'."],
  [/gridSample: expected an input \[N,C,H,W\]/, '`gridSample` of volumes.'],
  [
    /expected two float32 tensors of the same shape/,
    'Losses of tensors with different shapes: call `expandAs` first.',
  ],
  [/expected activation 'relu', 'gelu' or a function/, 'An activation that is a function of Python.'],
  [/lambda must be at least 0/, 'A negative `lambda`.'],
  [
    /: expected (float32|logits float32|an input float32).*got (int64|bool)/,
    'Functions of floats, of integers: call `float()` first.',
  ],
  [
    /MultiheadAttention: expected float32\[(N,L|L,N),\d+\], got float32\[\d+,\d+\]/,
    'Attention of one sequence without a batch: call `unsqueeze` first.',
  ],
  [
    /multiMarginLoss: expected an input \[N,C\].*got float32\[\d*\]/,
    '`multiMarginLoss` of one sample: call `unsqueeze` first.',
  ],
  [/batchNorm: expected float32\[N,C\]/, 'Batch normalization of a vector.'],
  [/^(Concat|cat|Equal): .*int64/, 'Functions of floats, of integers: call `float()` first.'],
  [/mean: expected float32/, 'Functions of floats, of integers: call `float()` first.'],
];

/** The reason for a rejection; undefined if none is listed here, which counts as a difference. */
export function reasonOf(message: string): string | undefined {
  return refusals.find(([pattern]) => pattern.test(message))?.[1];
}

interface Excuse {
  readonly names: RegExp;
  readonly values: Sample['values'];
  readonly how: RegExp;
  readonly reason: string;
}

const special = (names: RegExp, how: RegExp, reason: string): Excuse => ({
  names,
  values: 'special values',
  how,
  reason,
});

/** Differences that are not defects of ringrun. */
const excuses: readonly Excuse[] = [
  special(
    /op (remainder|fmod)$/,
    /torch NaN$/,
    'PyTorch divides by a denormal number and gets NaN; ringrun is exact.',
  ),
  special(
    /SoftMarginLoss$|soft_margin_loss$/,
    /torch NaN$/,
    'PyTorch overflows and gets NaN; ringrun stays finite.',
  ),
  special(
    /./,
    /e\+3\d, torch -?Infinity$/,
    'Sums near the largest float32 overflow in one order and not in another.',
  ),
  special(
    /(hardtanh|relu6|elu|hardshrink|softshrink|hardswish)$/i,
    /^gradient 0/,
    'The gradient at NaN depends in PyTorch on the length of the tensor: its vectorized and its plain loop differ.',
  ),
  special(
    /(gelu|logit)$/i,
    /(NaN|Infinity), torch/,
    'At infinity, NaN and −0, PyTorch’s result depends on the length of the tensor: its vectorized and its plain loop differ.',
  ),
  special(
    /(binary_cross_entropy_with_logits|BCEWithLogitsLoss)$/,
    /: (NaN|0), torch/,
    'Targets that are no probabilities, such as infinity: ringrun’s sum keeps the precision of confident logits, and its terms cancel there.',
  ),
  special(
    /op prod$/,
    /^gradient.*NaN/,
    'At NaN and infinity, the gradient of a product depends in PyTorch on zeros elsewhere in the tensor: it has three ways to compute it.',
  ),
  special(
    /op nn.functional.layer_norm$/,
    /-?Infinity, torch -?Infinity$/,
    'An infinite weight shows the sign of a difference that is rounding alone.',
  ),
  special(
    /(interpolate|upsample_bilinear|adaptive_?avg_?pool\dd)$/i,
    /^output \d+\[\d+\]: NaN, torch/,
    'Interpolation and adaptive pools of unequal windows are matrix products, in which an infinity makes its row and column NaN; sums of single elements take 1.5 to 20 times as long.',
  ),
  special(
    /scaled_dot_product_attention$/,
    /^output \d+\[\d+\]: NaN, torch 0$/,
    'Scores of NaN: PyTorch’s fused attention returns 0, its plain one and ringrun NaN.',
  ),
  special(/conv/i, /NaN|torch -?\d/, 'Infinities and NaN in fast convolutions reach their neighbours.'),
];

/** Further ones of bfloat16. */
const narrowExcuses: readonly Excuse[] = [
  special(
    /op (nn.functional.(linear|bilinear)|__rmatmul__|matmul|mm|bmm|mv|addmm|addmv|baddbmm|einsum)$/,
    /: NaN, torch -?Infinity$/,
    'Products of bfloat16 treat denormal numbers as 0, and 0 times infinity is NaN.',
  ),
  special(
    /adaptive_avg_pool1d$/,
    /torch -?\d/,
    'Large numbers cancel in a sum of float32, whose order decides which small ones remain.',
  ),
  special(/op nn.functional.layer_norm$/, /-?Infinity, torch NaN$/, 'Infinity or NaN of an infinite weight.'),
  ...(['special values', 'ties', 'kinks'] as const).map((values) => ({
    names: /gaussian_nll_loss$/,
    values,
    how: /var has negative entry/,
    reason: 'Variances are checked if they are known before the graph runs, not if they are rounded.',
  })),
];

/** The reason why a difference is not a defect; undefined if it is one. */
export function excuseOf({ name, values, dtype }: Sample, how: string): string | undefined {
  const all = dtype === 'bfloat16' ? [...excuses, ...narrowExcuses] : excuses;
  return all.find((one) => one.values === values && one.names.test(name) && one.how.test(how))?.reason;
}
