import { F, BufferTensor, Parameter, type Tensor } from '../../../src/index.ts';
import { NoCounterpart } from '../given.ts';
import { op, type Operation } from '../operation.ts';
import { numberOptions, options, sizeOptions } from './options.ts';

type Options = Record<string, never>;

const convolution = (
  call: (x: Tensor, weight: Tensor, bias?: Tensor, options?: Options) => Tensor,
): Operation =>
  op('weight bias stride padding dilation groups', (x, g) =>
    call(x, g.tensor('weight'), g.optionalTensor('bias'), {
      ...sizeOptions(g, { stride: 'stride', dilation: 'dilation' }),
      ...(typeof g.any('padding') === 'string'
        ? options(g, { padding: 'padding' })
        : sizeOptions(g, { padding: 'padding' })),
      ...numberOptions(g, { groups: 'groups' }),
    }),
  );

const transposed = (
  call: (x: Tensor, weight: Tensor, bias?: Tensor, options?: Options) => Tensor,
): Operation =>
  op('weight bias stride padding output_padding groups dilation', (x, g) =>
    call(x, g.tensor('weight'), g.optionalTensor('bias'), {
      ...sizeOptions(g, {
        stride: 'stride',
        padding: 'padding',
        output_padding: 'outputPadding',
        dilation: 'dilation',
      }),
      ...numberOptions(g, { groups: 'groups' }),
    }),
  );

const maxPool = (call: (x: Tensor, kernel: never, options?: Options) => Tensor): Operation =>
  op('kernel_size stride padding dilation ceil_mode return_indices', (x, g) => {
    if (g.flag('return_indices')) throw new NoCounterpart('`return_indices`');
    return call(x, g.sizes('kernel_size') as never, {
      ...sizeOptions(g, { stride: 'stride', padding: 'padding', dilation: 'dilation' }),
      ...options(g, { ceil_mode: 'ceilMode' }),
    });
  });

const averagePool = (call: (x: Tensor, kernel: never, options?: Options) => Tensor): Operation =>
  op('kernel_size stride padding ceil_mode count_include_pad divisor_override', (x, g) =>
    call(x, g.sizes('kernel_size') as never, {
      ...sizeOptions(g, { stride: 'stride', padding: 'padding' }),
      ...options(g, { ceil_mode: 'ceilMode', count_include_pad: 'countIncludePad' }),
    }),
  );

const adaptive = (call: (x: Tensor, size: never) => Tensor): Operation =>
  op('output_size return_indices', (x, g) => {
    if (g.flag('return_indices')) throw new NoCounterpart('`return_indices`');
    const size = g.any('output_size');
    const sizes = Array.isArray(size) ? (size as unknown[]).map((one) => one ?? null) : size;
    return call(x, sizes as never);
  });

const channelDropout = (call: (x: Tensor, p?: number, options?: F.DropoutOptions) => Tensor): Operation =>
  op('p training inplace', (x, g) => {
    g.ignore('inplace');
    const [p, training] = [g.number('p'), g.flag('training') ?? true];
    if (training && p !== 0 && p !== 1) throw new NoCounterpart('random numbers of torch');
    return call(x, p, { training });
  });

const interpolated: Operation = op(
  'size scale_factor mode align_corners recompute_scale_factor antialias',
  (x, g) =>
    F.interpolate(x, {
      ...sizeOptions(g, { size: 'size', scale_factor: 'scaleFactor' }),
      ...options(g, {
        mode: 'mode',
        align_corners: 'alignCorners',
        recompute_scale_factor: 'recomputeScaleFactor',
      }),
    }),
);

/** A tensor as running statistics that a normalization changes. */
function buffer(tensor: Tensor | undefined): BufferTensor | undefined {
  if (tensor === undefined) return undefined;
  const elements = tensor instanceof Parameter ? tensor.data : (tensor.elements() as Float32Array);
  return new BufferTensor(elements, tensor.shape);
}

/** torch.nn.functional: functions of layers. */
export const layers: Readonly<Record<string, Operation>> = {
  'nn.functional.linear': op('weight bias', (x, g) =>
    F.linear(x, g.tensor('weight'), g.optionalTensor('bias')),
  ),
  'nn.functional.bilinear': op('input2 weight bias', (x, g) =>
    F.bilinear(x, g.tensor('input2'), g.tensor('weight'), g.optionalTensor('bias')),
  ),
  'nn.functional.conv1d': convolution(F.conv1d),
  'nn.functional.conv2d': convolution(F.conv2d),
  'nn.functional.conv3d': convolution(F.conv3d),
  'nn.functional.conv_transpose1d': transposed(F.convTranspose1d),
  'nn.functional.conv_transpose2d': transposed(F.convTranspose2d),
  'nn.functional.conv_transpose3d': transposed(F.convTranspose3d),
  'nn.functional.max_pool1d': maxPool(F.maxPool1d),
  'nn.functional.max_pool2d': maxPool(F.maxPool2d),
  'nn.functional.max_pool3d': maxPool(F.maxPool3d),
  'nn.functional.avg_pool1d': averagePool(F.avgPool1d),
  'nn.functional.avg_pool2d': averagePool(F.avgPool2d),
  'nn.functional.avg_pool3d': averagePool(F.avgPool3d),
  'nn.functional.adaptive_avg_pool1d': adaptive(F.adaptiveAvgPool1d),
  'nn.functional.adaptive_avg_pool2d': adaptive(F.adaptiveAvgPool2d),
  'nn.functional.adaptive_avg_pool3d': adaptive(F.adaptiveAvgPool3d),
  'nn.functional.adaptive_max_pool1d': adaptive(F.adaptiveMaxPool1d),
  'nn.functional.adaptive_max_pool2d': adaptive(F.adaptiveMaxPool2d),
  'nn.functional.adaptive_max_pool3d': adaptive(F.adaptiveMaxPool3d),
  'nn.functional.batch_norm': op('running_mean running_var weight bias training momentum eps', (x, g) =>
    F.batchNorm(
      x,
      buffer(g.optionalTensor('running_mean')),
      buffer(g.optionalTensor('running_var')),
      g.optionalTensor('weight'),
      g.optionalTensor('bias'),
      { ...options(g, { training: 'training' }), ...numberOptions(g, { momentum: 'momentum', eps: 'eps' }) },
    ),
  ),
  'nn.functional.layer_norm': op('normalized_shape weight bias eps', (x, g) =>
    F.layerNorm(
      x,
      g.numbers('normalized_shape')!,
      g.optionalTensor('weight'),
      g.optionalTensor('bias'),
      numberOptions(g, { eps: 'eps' }),
    ),
  ),
  'nn.functional.rms_norm': op('normalized_shape weight eps', (x, g) =>
    F.rmsNorm(
      x,
      g.numbers('normalized_shape')!,
      g.optionalTensor('weight'),
      numberOptions(g, { eps: 'eps' }),
    ),
  ),
  'nn.functional.group_norm': op('num_groups weight bias eps', (x, g) =>
    F.groupNorm(
      x,
      g.number('num_groups')!,
      g.optionalTensor('weight'),
      g.optionalTensor('bias'),
      numberOptions(g, { eps: 'eps' }),
    ),
  ),
  'nn.functional.instance_norm': op(
    'running_mean running_var weight bias use_input_stats momentum eps',
    (x, g) => {
      if (g.flag('use_input_stats') === false) throw new NoCounterpart('`use_input_stats=False`');
      if (g.has('running_mean') || g.has('running_var')) throw new NoCounterpart('running statistics');
      g.ignore('momentum');
      return F.instanceNorm(
        x,
        g.optionalTensor('weight'),
        g.optionalTensor('bias'),
        numberOptions(g, { eps: 'eps' }),
      );
    },
  ),
  'nn.functional.local_response_norm': op('size alpha beta k', (x, g) =>
    F.localResponseNorm(x, g.number('size')!, numberOptions(g, { alpha: 'alpha', beta: 'beta', k: 'k' })),
  ),
  'nn.functional.normalize': op('p dim eps', (x, g) =>
    F.normalize(x, numberOptions(g, { p: 'p', dim: 'dim', eps: 'eps' })),
  ),
  'nn.functional.cosine_similarity': op('other dim eps', (x, g) =>
    F.cosineSimilarity(x, g.tensor('other'), numberOptions(g, { dim: 'dim', eps: 'eps' })),
  ),
  'nn.functional.pairwise_distance': op('other p eps keepdim', (x, g) =>
    F.pairwiseDistance(x, g.tensor('other'), {
      ...numberOptions(g, { p: 'p', eps: 'eps' }),
      ...options(g, { keepdim: 'keepdim' }),
    }),
  ),
  'nn.functional.pad': op('pad mode value', (x, g) =>
    F.pad(x, g.numbers('pad')!, { ...options(g, { mode: 'mode' }), ...numberOptions(g, { value: 'value' }) }),
  ),
  'nn.functional.interpolate': interpolated,
  'nn.functional.upsample_bilinear': op('size scale_factor', (x, g) =>
    F.interpolate(x, {
      ...sizeOptions(g, { size: 'size', scale_factor: 'scaleFactor' }),
      mode: 'bilinear',
      alignCorners: true,
    }),
  ),
  'nn.functional.upsample_nearest': op('size scale_factor', (x, g) =>
    F.interpolate(x, sizeOptions(g, { size: 'size', scale_factor: 'scaleFactor' })),
  ),
  'nn.functional.grid_sample': op('grid mode padding_mode align_corners', (x, g) =>
    F.gridSample(
      x,
      g.tensor('grid'),
      options(g, { mode: 'mode', padding_mode: 'paddingMode', align_corners: 'alignCorners' }),
    ),
  ),
  // op_db's samples begin with the table.
  'nn.functional.embedding': op('indices padding_idx max_norm norm_type scale_grad_by_freq sparse', (x, g) =>
    F.embedding(g.tensor('indices'), x, numberOptions(g, { padding_idx: 'paddingIdx' })),
  ),
  'nn.functional.embedding_bag': op(
    'indices offsets max_norm norm_type scale_grad_by_freq mode sparse per_sample_weights include_last_offset padding_idx',
    (x, g) =>
      F.embeddingBag(g.tensor('indices'), x, g.optionalTensor('offsets'), {
        ...options(g, { mode: 'mode', include_last_offset: 'includeLastOffset' }),
        perSampleWeights: g.optionalTensor('per_sample_weights'),
        ...numberOptions(g, { padding_idx: 'paddingIdx' }),
      }),
  ),
  'nn.functional.one_hot': op('num_classes', (x, g) => {
    const classes = g.number('num_classes') ?? -1;
    if (classes === -1) throw new NoCounterpart('`num_classes=-1`: shapes are known before elements');
    return F.oneHot(x, classes);
  }),
  'nn.functional.scaled_dot_product_attention': op(
    'key value attn_mask dropout_p is_causal scale enable_gqa',
    (x, g) => {
      if (![undefined, 0, 1].includes(g.number('dropout_p')))
        throw new NoCounterpart('random numbers of torch');
      return F.scaledDotProductAttention(x, g.tensor('key'), g.tensor('value'), {
        attnMask: g.optionalTensor('attn_mask'),
        ...numberOptions(g, { dropout_p: 'dropoutP', scale: 'scale' }),
        ...options(g, { is_causal: 'isCausal', enable_gqa: 'enableGqa' }),
      });
    },
  ),
  'nn.functional.dropout': channelDropout(F.dropout),
  'nn.functional.dropout2d': channelDropout(F.dropout2d),
  'nn.functional.dropout3d': channelDropout(F.dropout3d),
  'nn.functional.alpha_dropout': channelDropout(F.alphaDropout),
  'nn.functional.pixel_shuffle': op('upscale_factor', (x, g) =>
    F.pixelShuffle(x, g.number('upscale_factor')!),
  ),
  'nn.functional.pixel_unshuffle': op('downscale_factor', (x, g) =>
    F.pixelUnshuffle(x, g.number('downscale_factor')!),
  ),
  'nn.functional.channel_shuffle': op('groups', (x, g) => F.channelShuffle(x, g.number('groups')!)),
};
