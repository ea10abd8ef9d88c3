import { describe, expect, test } from 'vitest';
import { nn, Parameter, Tensor, zeros } from '../../src/index.ts';
import { fill } from '../support/fill.ts';
import '../support/one-thread.ts';

// For an empty batch, every module computes an empty result, and its parameters have a gradient of zeros, as in torch.

/** A module, and the shape of its input; a function of the module and its input, if not `forward`. */
type Case = readonly [
  make: () => nn.Module,
  shape: readonly number[],
  call?: (module: never, x: Tensor) => unknown,
];

const forEach = (names: readonly (keyof typeof nn)[], shape: readonly number[], ...options: unknown[]) =>
  Object.fromEntries(
    names.map((name): [string, Case] => {
      const Made = nn[name] as new (...given: unknown[]) => nn.Module;
      return [name, [() => new Made(...options), shape]];
    }),
  );

const images = [
  [0, 4, 6],
  [0, 4, 6, 6],
  [0, 4, 4, 4, 4],
] as const;
/** Modules for one, two and three axes. */
const ofAxes = (prefix: string, ...options: unknown[]) =>
  Object.assign(
    {},
    ...images.map((shape, axis) => forEach([`${prefix}${axis + 1}d` as keyof typeof nn], shape, ...options)),
  ) as Record<string, Case>;

const classes = () => zeros([0], { dtype: 'int64' });
const losses = (names: readonly (keyof typeof nn)[]): Record<string, Case> =>
  Object.fromEntries(
    Object.entries(forEach(names, [0, 3])).map(([name, [make, shape]]) => [
      name,
      [
        make,
        shape,
        (loss: { forward: (a: Tensor, b: Tensor) => Tensor }, x) => loss.forward(x, zeros([0, 3])),
      ],
    ]),
  );
type Triple = { forward: (a: Tensor, b: Tensor, c: Tensor) => Tensor };
type Pair = { forward: (a: Tensor, b: Tensor) => Tensor };

const cases: Readonly<Record<string, Case>> = {
  ...forEach(
    [
      ...([
        'CELU',
        'ELU',
        'GELU',
        'GLU',
        'Hardshrink',
        'Hardsigmoid',
        'Hardswish',
        'Hardtanh',
        'Identity',
      ] as const),
      ...(['LeakyReLU', 'LogSigmoid', 'Mish', 'PReLU', 'ReLU', 'ReLU6', 'SELU', 'SiLU', 'Sigmoid'] as const),
      ...(['Softplus', 'Softshrink', 'Softsign', 'Tanh', 'Tanhshrink', 'Dropout', 'AlphaDropout'] as const),
      ...(['Flatten', 'Softmax2d'] as const),
    ],
    [0, 4, 6, 6],
  ),
  ...forEach(['Softmax', 'Softmin', 'LogSoftmax'], [0, 4], 1),
  ...forEach(['Threshold'], [0, 4], 0, 1),
  ...ofAxes('AdaptiveAvgPool', 3),
  ...ofAxes('AdaptiveMaxPool', 3),
  ...ofAxes('AvgPool', 2),
  ...ofAxes('MaxPool', 2),
  ...ofAxes('BatchNorm', 4),
  ...ofAxes('InstanceNorm', 4),
  ...ofAxes('Dropout'),
  ...ofAxes('CircularPad', 1),
  ...ofAxes('ConstantPad', 1, 2),
  ...ofAxes('ReflectionPad', 1),
  ...ofAxes('ReplicationPad', 1),
  ...ofAxes('ZeroPad', 1),
  ...ofAxes('Conv', 4, 2, 3),
  ...ofAxes('ConvTranspose', 4, 2, 3),
  ...forEach(['SyncBatchNorm'], [0, 4, 6], 4),
  ...forEach(['ChannelShuffle', 'PixelShuffle', 'PixelUnshuffle', 'LocalResponseNorm'], [0, 4, 6, 6], 2),
  ...forEach(['GroupNorm'], [0, 4, 6], 2, 4),
  ...forEach(['LayerNorm', 'RMSNorm'], [0, 3, 4], [4]),
  ...forEach(['Linear'], [0, 3], 3, 2),
  ...forEach(['Unflatten'], [0, 4], 1, [2, 2]),
  ...forEach(['Upsample'], [0, 4, 6, 6], { scaleFactor: 2, mode: 'bilinear' }),
  ...forEach(['RNN', 'LSTM', 'GRU'], [2, 0, 3], 3, 4),
  ...forEach(['RNNCell', 'LSTMCell', 'GRUCell'], [0, 3], 3, 4),
  ...forEach(['TransformerEncoderLayer'], [0, 3, 4], 4, 2, { batchFirst: true }),
  ...losses(['BCELoss', 'BCEWithLogitsLoss', 'HuberLoss', 'KLDivLoss', 'L1Loss', 'MSELoss', 'SmoothL1Loss']),
  ...losses(['SoftMarginLoss', 'PoissonNLLLoss', 'HingeEmbeddingLoss', 'MultiLabelSoftMarginLoss']),
  ...losses(['CosineSimilarity', 'PairwiseDistance']),
  Bilinear: [() => new nn.Bilinear(3, 3, 2), [0, 3], (module: Pair, x) => module.forward(x, x)],
  Embedding: [() => new nn.Embedding(3, 2), [0, 4], (module: nn.Embedding) => module.forward(classes())],
  EmbeddingBag: [
    () => new nn.EmbeddingBag(3, 2),
    [0],
    (module: nn.EmbeddingBag) => module.forward(classes(), classes()),
  ],
  CrossEntropyLoss: [() => new nn.CrossEntropyLoss(), [0, 3], (loss: Pair, x) => loss.forward(x, classes())],
  NLLLoss: [() => new nn.NLLLoss(), [0, 3], (loss: Pair, x) => loss.forward(x, classes())],
  MultiMarginLoss: [() => new nn.MultiMarginLoss(), [0, 3], (loss: Pair, x) => loss.forward(x, classes())],
  CosineEmbeddingLoss: [
    () => new nn.CosineEmbeddingLoss(),
    [0, 3],
    (loss: Triple, x) => loss.forward(x, x, zeros([0])),
  ],
  ...Object.fromEntries(
    ['GaussianNLLLoss', 'MarginRankingLoss', 'TripletMarginLoss', 'TripletMarginWithDistanceLoss'].map(
      (name) => [
        name,
        [
          () => new nn[name as 'MarginRankingLoss'](),
          [0, 3],
          (loss: Triple, x: Tensor) => loss.forward(x, x, zeros([0, 3])),
        ] satisfies Case,
      ],
    ),
  ),
  MultiheadAttention: [
    () => new nn.MultiheadAttention(4, 2),
    [3, 0, 4],
    (module: nn.MultiheadAttention, x) => module.forward(x, x, x),
  ],
};

/** Containers, base classes, compositions of modules listed here, modules without empty batches in torch, and what is no module. */
const notCalled = [
  ...[
    'Module',
    'ModuleDict',
    'ModuleList',
    'Parameter',
    'ParameterDict',
    'ParameterList',
    'RecurrentNetwork',
  ],
  ...['RecurrentStep', 'Sequential', 'Transformer', 'TransformerDecoder', 'TransformerDecoderLayer'],
  ...['TransformerEncoder', 'CTCLoss', 'generateSquareSubsequentMask', 'init', 'utils', 'autocast'],
];

describe('an empty batch', () => {
  test.each(Object.entries(cases))('%s', async (name, [make, shape, call]) => {
    const module = make();
    const x = new Parameter(fill(shape, 1), shape);
    const run = call ?? ((layer: nn.Layer, input: Tensor) => layer.forward(input));
    const results = tensorsOf(run(module as never, x));
    expect(results.length).toBeGreaterThan(0);
    for (const one of results) {
      const elements = await one.array();
      // The loss of an empty batch is an empty mean.
      expect([...elements]).toEqual(one.shape.length === 0 ? [NaN] : []);
    }
    const trained = results.filter((one) => one.requiresGrad);
    await trained
      .map((one) => one.sum())
      .reduce((sum, one) => sum.add(one))
      .backward();
    for (const [key, { grad }] of module.namedParameters()) {
      expect(
        grad?.every((number) => number === 0),
        `${name}.${key}`,
      ).not.toBe(false);
    }
  });

  test('is tested with every module', () => {
    expect([...Object.keys(cases), ...notCalled].sort()).toEqual(Object.keys(nn).sort());
  });
});

function tensorsOf(result: unknown): Tensor[] {
  if (result instanceof Tensor) return [result];
  return typeof result === 'object' && result !== null ? Object.values(result).flatMap(tensorsOf) : [];
}
