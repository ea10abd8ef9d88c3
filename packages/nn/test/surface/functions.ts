import * as all from '../../src/index.ts';
import { cat, cdist, einsum, F, meshgrid, stack, type Tensor, where, zeros } from '../../src/index.ts';
import { forEach, indices, zerosAlong, type CallTable } from './calls.ts';

/** A function for calls in which its type is not known. */
const call = (name: keyof typeof F) => F[name] as unknown as (...inputs: readonly unknown[]) => unknown;

const channels = (x: Tensor) => x.shape[1] ?? 1;
const perChannel = (x: Tensor) => zerosAlong(x, 1);
const classes = (x: Tensor) => zeros(x.shape.toSpliced(1, 1), { dtype: 'int64' });
const reductions = ['none', 'mean', 'sum'] as const;
const kernel = (x: Tensor, axes: number, size: number) =>
  zeros([2, channels(x), ...Array<number>(axes).fill(size)]);
const transposedKernel = (x: Tensor, axes: number) => zeros([channels(x), 2, ...Array<number>(axes).fill(2)]);

/** Every function of F. */
export const functionCalls: CallTable = {
  ...forEach(
    [
      ...(['gelu', 'relu', 'sigmoid', 'silu', 'tanh', 'celu', 'elu', 'hardshrink', 'hardsigmoid'] as const),
      ...([
        'hardswish',
        'hardtanh',
        'logsigmoid',
        'mish',
        'relu6',
        'selu',
        'softplus',
        'softshrink',
      ] as const),
      ...(['softsign', 'tanhshrink', 'leakyRelu', 'flatten', 'instanceNorm', 'gumbelSoftmax'] as const),
      ...(['glu', 'dropout', 'dropout1d', 'dropout2d', 'dropout3d', 'alphaDropout', 'normalize'] as const),
    ],
    (name) => [(x) => call(name)(x)],
  ),
  ...forEach(['softmax', 'softmin', 'logSoftmax'], (name) => [
    (x) => call(name)(x, 0),
    (x) => call(name)(x, -1),
  ]),
  threshold: [(x) => F.threshold(x, 0, 1)],
  prelu: [(x) => F.prelu(x, zeros([1])), (x) => F.prelu(x, perChannel(x))],
  ...forEach(['adaptiveAvgPool1d', 'adaptiveAvgPool2d', 'adaptiveAvgPool3d'], (name) => [
    (x) => call(name)(x, 1),
    (x) => call(name)(x, 3),
  ]),
  ...forEach(['adaptiveMaxPool1d', 'adaptiveMaxPool2d', 'adaptiveMaxPool3d'], (name) => [
    (x) => call(name)(x, 1),
    (x) => call(name)(x, 2 ** 31),
    (x) => call(name)(x, 3),
  ]),
  ...forEach(['avgPool1d', 'avgPool2d', 'avgPool3d'], (name) => [
    (x) => call(name)(x, 1),
    (x) => call(name)(x, 2, { padding: 1, ceilMode: true }),
  ]),
  ...forEach(['maxPool1d', 'maxPool2d', 'maxPool3d'], (name) => [
    (x) => call(name)(x, 1),
    (x) => call(name)(x, 2, { padding: 1, stride: 1 }),
  ]),
  ...forEach(['conv1d', 'conv2d', 'conv3d'], (name) => [
    (x) => call(name)(x, kernel(x, Number(name[4]), 1)),
    (x) => call(name)(x, kernel(x, Number(name[4]), 0)),
    (x) => call(name)(x, kernel(x, Number(name[4]), 3), zeros([2]), { padding: 1 }),
  ]),
  ...forEach(['convTranspose1d', 'convTranspose2d', 'convTranspose3d'], (name) => [
    (x) => call(name)(x, transposedKernel(x, Number(name[13]))),
    (x) => call(name)(x, transposedKernel(x, Number(name[13])), undefined, { padding: 3 }),
  ]),
  ...forEach(['channelShuffle', 'pixelShuffle', 'pixelUnshuffle', 'localResponseNorm'], (name) => [
    (x) => call(name)(x, 1),
    (x) => call(name)(x, 2),
  ]),
  affineGrid: [(x) => F.affineGrid(zeros([x.shape[0] ?? 1, 2, 3]), [x.shape[0] ?? 1, 1, 2, 0])],
  gridSample: [(x) => F.gridSample(x, zeros([x.shape[0] ?? 1, 2, 2, 2]))],
  interpolate: [
    (x) => F.interpolate(x, { size: 2 }),
    (x) => F.interpolate(x, { size: 2 ** 31 }),
    (x) => F.interpolate(x, { scaleFactor: 2, mode: 'bilinear' }),
    (x) => F.interpolate(x, { size: 3, mode: 'area' }),
  ],
  batchNorm: [(x) => F.batchNorm(x, undefined, undefined, perChannel(x), perChannel(x), { training: true })],
  groupNorm: [(x) => F.groupNorm(x, 1), (x) => F.groupNorm(x, 2)],
  layerNorm: [(x) => F.layerNorm(x, x.shape.slice(-1)), (x) => F.layerNorm(x, x.shape)],
  rmsNorm: [(x) => F.rmsNorm(x, x.shape.slice(-1))],
  linear: [
    (x) => F.linear(x, zeros([2, x.shape.at(-1) ?? 1]), zeros([2])),
    (x) => F.linear(x, zeros([0, x.shape.at(-1) ?? 1])),
  ],
  bilinear: [(x) => F.bilinear(x, x, zeros([2, x.shape.at(-1) ?? 1, x.shape.at(-1) ?? 1]))],
  embedding: [(x) => F.embedding(indices(x), zeros([2, 3])), (x) => F.embedding(indices(x), zeros([0, 3]))],
  embeddingBag: [
    (x) => F.embeddingBag(indices(x), zeros([2, 3])),
    (x) => F.embeddingBag(indices(x, [0]), zeros([0, 3]), indices(x, [2])),
  ],
  oneHot: [(x) => F.oneHot(indices(x), 3), (x) => F.oneHot(x, 2)],
  pad: [
    (x) => F.pad(x, [1, 1]),
    (x) => F.pad(x, [-1, 0]),
    (x) => F.pad(x, [1, 0], { mode: 'reflect' }),
    (x) => F.pad(x, [1, 0], { mode: 'replicate' }),
    (x) => F.pad(x, [0, 1], { mode: 'circular' }),
  ],
  scaledDotProductAttention: [(x) => F.scaledDotProductAttention(x, x, x)],
  ...forEach(['cosineSimilarity', 'pairwiseDistance'], (name) => [(x) => call(name)(x, x)]),
  ...forEach(
    [
      ...(['binaryCrossEntropy', 'binaryCrossEntropyWithLogits', 'huberLoss', 'l1Loss', 'mseLoss'] as const),
      ...(['smoothL1Loss', 'softMarginLoss', 'multilabelSoftMarginLoss'] as const),
      ...(['poissonNllLoss', 'klDiv'] as const),
    ],
    (name) => reductions.map((reduction) => (x) => call(name)(x, zeros(x.shape), { reduction })),
  ),
  hingeEmbeddingLoss: [
    (x) => F.hingeEmbeddingLoss(x, zeros(x.shape)),
    (x) => F.hingeEmbeddingLoss(x, x.gt(0)),
  ],
  ...forEach(['crossEntropy', 'nllLoss'], (name) =>
    reductions.flatMap((reduction) => [
      (x) => call(name)(x, classes(x), { reduction }),
      (x) => call(name)(x, classes(x), { reduction, weight: perChannel(x) }),
    ]),
  ),
  multiMarginLoss: reductions.map((reduction) => (x) => F.multiMarginLoss(x, classes(x), { reduction })),
  ...forEach(
    ['marginRankingLoss', 'gaussianNllLoss', 'tripletMarginLoss', 'tripletMarginWithDistanceLoss'],
    (name) => reductions.map((reduction) => (x) => call(name)(x, x, zeros(x.shape), { reduction })),
  ),
  cosineEmbeddingLoss: reductions.map(
    (reduction) => (x) => F.cosineEmbeddingLoss(x, x, zerosAlong(x, 0), { reduction }),
  ),
  ctcLoss: [
    (x) =>
      F.ctcLoss(
        x,
        indices(x, [x.shape[1] ?? 1, 0]),
        Array<number>(x.shape[1] ?? 1).fill(0),
        Array<number>(x.shape[1] ?? 1).fill(0),
      ),
  ],
};

/** Functions of the package that accept or return tensors. */
export const packageCalls: CallTable = {
  cat: [(x) => cat([x, x]), (x) => cat([x, zeros([0])]), () => cat([], 0)],
  stack: [(x) => stack([x, x]), (x) => stack([x], -1)],
  cdist: [0, 1, 2, Infinity].map((p) => (x) => cdist(x, x, p)),
  einsum: [
    (x) => einsum('ij,jk->ik', x, zeros([x.shape[1] ?? 1, 2])),
    (x) => einsum('...->...', x),
    (x) => einsum('i->', x),
  ],
  meshgrid: [(x) => meshgrid(x, x)],
  where: [(x) => where(zeros(x.shape, { dtype: 'bool' }), x, 1), (x) => where(x, x, x)],
  ...forEach(['zerosLike', 'onesLike', 'randLike', 'randnLike'], (name) => [(x) => all[name](x)]),
  ...forEach(['zeros', 'ones', 'rand', 'randn'], (name) => [
    (x) => all[name](x.shape),
    () => all[name]([-1]),
  ]),
  full: [(x) => all.full(x.shape, 2)],
  empty: [(x) => all.empty(x.shape), () => all.empty(2, 3)],
  emptyLike: [(x) => all.emptyLike(x)],
  fullLike: [(x) => all.fullLike(x, 2)],
  normal: [(x) => all.normal(0, 1, x.shape)],
  randint: [(x) => all.randint(0, 3, x.shape), (x) => all.randint(3, 3, x.shape)],
  eye: [() => all.eye(0), () => all.eye(0, 3), () => all.eye(-1)],
  arange: [() => all.arange(0), () => all.arange(1e30), () => all.arange(0, 3, 0)],
  linspace: [() => all.linspace(0, 1, 0), () => all.linspace(0, 1, -1)],
  logspace: [() => all.logspace(0, 1, 0)],
  multinomial: [(x) => all.multinomial(x, 1), (x) => all.multinomial(x.exp(), 1)],
  bernoulli: [(x) => all.bernoulli(x), (x) => all.bernoulli(x, 0.5)],
  randperm: [() => all.randperm(0), () => all.randperm(-1)],
  tensor: [() => all.tensor([]), (x) => all.tensor([], x.shape)],
  Parameter: [(x) => new all.Parameter(new Float32Array(x.numel()), x.shape)],
  BufferTensor: [(x) => new all.BufferTensor(new Float32Array(x.numel()), x.shape)],
};

/** Exports of the package without tensor arguments, or that are tested separately. */
export const notFunctions = [
  ...['ArgumentError', 'NnError', 'ShapeError', 'OnnxModule', 'SparseGradient', 'Tensor', 'F', 'nn', 'optim'],
  ...[
    'compileStep',
    'deepcopy',
    'checkpoint',
    ...['noGrad', 'enableGrad', 'inferenceMode', 'isGradEnabled', 'autograd'],
    'autocast',
    'isAutocastEnabled',
    'GradScaler',
    'exportOnnx',
    'importOnnx',
    'programCache',
    'setDefaultDevice',
    'summary',
    ...['setFloat32MatmulPrecision', 'getFloat32MatmulPrecision', 'backends'],
  ],
  ...['defaultGenerator', 'manualSeed', 'distributions'],
];
