import { made, type Options } from './network.ts';
import type { Random } from './random.ts';
import {
  adaptive,
  averagePool,
  convolution,
  images,
  maxPool,
  padding,
  transposed,
  type Draw,
} from './windows.ts';

const plain =
  (name: string, options: (random: Random) => Options = () => ({})): Draw =>
  (random) =>
    made(name, [], options(random));

/** With numbers as arguments. */
const scaled =
  (name: string, ...args: readonly number[]): Draw =>
  (random) =>
    made(name, random.chance() ? args : args.map((one) => one * 0.75));

const batchNorm = (axes: number): Draw =>
  images(axes, (random, channels, sizes) =>
    sizes.reduce((count, size) => count * size, 1) < 2
      ? undefined
      : made(
          `BatchNorm${Math.max(1, axes)}d`,
          [channels],
          random.some({
            eps: () => 1e-3,
            momentum: () => random.pick([0.3, null]),
            affine: () => random.chance(),
            trackRunningStats: () => random.chance(),
          }),
        ),
  );

const instanceNorm = (axes: number): Draw =>
  images(axes, (random, channels, sizes) =>
    sizes.reduce((count, size) => count * size, 1) < 2
      ? undefined
      : made(`InstanceNorm${axes}d`, [channels], random.some({ eps: () => 1e-3, affine: () => true })),
  );

const lastSize = (shape: readonly number[]) => shape.at(-1)!;

const recurrent =
  (name: string): Draw =>
  (random, shape) =>
    shape.length === 3
      ? made(
          name,
          [lastSize(shape), random.int(1, 4)],
          random.some({
            numLayers: () => random.int(1, 2),
            bidirectional: () => random.chance(),
            batchFirst: () => random.chance(),
            bias: () => random.chance(),
            ...(name === 'RNN' && { nonlinearity: () => random.pick(['tanh', 'relu']) }),
          }),
        )
      : undefined;

const cell =
  (name: string): Draw =>
  (random, shape) =>
    shape.length === 2
      ? made(name, [lastSize(shape), random.int(1, 5)], random.some({ bias: () => false }))
      : undefined;

/** Number of heads, a divisor of the embedding size. */
const headsOf = (random: Random, size: number) =>
  random.pick([1, 2, 3].filter((heads) => size % heads === 0));

/** The modules of torch.nn. A new module needs an entry here. */
export const modules: Readonly<Record<string, Draw>> = {
  Linear: (random, shape) =>
    shape.length > 1
      ? made('Linear', [lastSize(shape), random.int(1, 7)], random.some({ bias: () => random.chance() }))
      : undefined,
  Flatten: (random, shape) =>
    shape.length > 2
      ? made('Flatten', random.chance() ? [] : [random.int(0, shape.length - 1), -1])
      : undefined,
  Unflatten: (_, shape) =>
    lastSize(shape) % 2 === 0 ? made('Unflatten', [-1, [2, lastSize(shape) / 2]]) : undefined,
  Identity: plain('Identity'),
  Conv1d: convolution(1),
  Conv2d: convolution(2),
  Conv3d: convolution(3),
  ConvTranspose1d: transposed(1),
  ConvTranspose2d: transposed(2),
  ConvTranspose3d: transposed(3),
  MaxPool1d: maxPool(1),
  MaxPool2d: maxPool(2),
  MaxPool3d: maxPool(3),
  AvgPool1d: averagePool(1),
  AvgPool2d: averagePool(2),
  AvgPool3d: averagePool(3),
  AdaptiveAvgPool1d: adaptive('AdaptiveAvgPool1d', 1),
  AdaptiveAvgPool2d: adaptive('AdaptiveAvgPool2d', 2),
  AdaptiveAvgPool3d: adaptive('AdaptiveAvgPool3d', 3),
  AdaptiveMaxPool1d: adaptive('AdaptiveMaxPool1d', 1),
  AdaptiveMaxPool2d: adaptive('AdaptiveMaxPool2d', 2),
  AdaptiveMaxPool3d: adaptive('AdaptiveMaxPool3d', 3),
  ...Object.fromEntries(
    [1, 2, 3].flatMap((axes) => [
      [`ConstantPad${axes}d`, padding(`ConstantPad${axes}d`, axes, () => 2, 0.5)],
      [`ZeroPad${axes}d`, padding(`ZeroPad${axes}d`, axes, () => 2)],
      [`ReflectionPad${axes}d`, padding(`ReflectionPad${axes}d`, axes, (size) => size - 1)],
      [`ReplicationPad${axes}d`, padding(`ReplicationPad${axes}d`, axes, () => 2)],
      [`CircularPad${axes}d`, padding(`CircularPad${axes}d`, axes, (size) => size)],
    ]),
  ),
  BatchNorm1d: batchNorm(1),
  BatchNorm2d: batchNorm(2),
  BatchNorm3d: batchNorm(3),
  InstanceNorm1d: instanceNorm(1),
  InstanceNorm2d: instanceNorm(2),
  InstanceNorm3d: instanceNorm(3),
  GroupNorm: (random, shape) => {
    const count = shape.slice(2).reduce((product, size) => product * size, 1);
    if (shape.length < 3 || count < 2) return undefined;
    const groups = random.pick([1, shape[1]]);
    return made(
      'GroupNorm',
      [groups, shape[1]],
      random.some({ eps: () => 1e-3, affine: () => random.chance() }),
    );
  },
  LayerNorm: (random, shape) => {
    const last = shape.slice(-random.int(1, Math.min(2, shape.length - 1)));
    if (shape.length < 2 || last.reduce((product, size) => product * size, 1) < 2) return undefined;
    return made(
      'LayerNorm',
      [last],
      random.some({ eps: () => 1e-3, elementwiseAffine: () => random.chance() }),
    );
  },
  RMSNorm: (random, shape) =>
    made('RMSNorm', [lastSize(shape)], random.some({ eps: () => 1e-3, elementwiseAffine: () => false })),
  LocalResponseNorm: (random, shape) =>
    shape.length > 2
      ? made(
          'LocalResponseNorm',
          [random.int(1, 4)],
          random.some({ alpha: () => 0.1, beta: () => 0.5, k: () => 2 }),
        )
      : undefined,
  ReLU: plain('ReLU'),
  ReLU6: plain('ReLU6'),
  LeakyReLU: scaled('LeakyReLU', 0.1),
  GELU: plain('GELU', (random) => random.some({ approximate: () => random.pick(['none', 'tanh']) })),
  SiLU: plain('SiLU'),
  Sigmoid: plain('Sigmoid'),
  Tanh: plain('Tanh'),
  ELU: scaled('ELU', 1.3),
  CELU: scaled('CELU', 1.3),
  SELU: plain('SELU'),
  Hardtanh: scaled('Hardtanh', -0.5, 0.8),
  Hardsigmoid: plain('Hardsigmoid'),
  Hardswish: plain('Hardswish'),
  LogSigmoid: plain('LogSigmoid'),
  Mish: plain('Mish'),
  Softplus: plain('Softplus', (random) => random.some({ beta: () => 2, threshold: () => 1 })),
  Softshrink: scaled('Softshrink', 0.2),
  Hardshrink: scaled('Hardshrink', 0.2),
  Softsign: plain('Softsign'),
  Tanhshrink: plain('Tanhshrink'),
  Threshold: scaled('Threshold', 0.1, -0.4),
  PReLU: (random, shape) => made('PReLU', shape.length > 1 && random.chance() ? [shape[1]] : []),
  GLU: (random, shape) => {
    const axes = shape.flatMap((size, axis) => (size % 2 === 0 ? [axis] : []));
    return axes.length > 0 ? made('GLU', [random.pick(axes)]) : undefined;
  },
  Softmax: (random, shape) => made('Softmax', [random.int(-shape.length, shape.length - 1)]),
  Softmin: (random, shape) => made('Softmin', [random.int(-shape.length, shape.length - 1)]),
  LogSoftmax: (random, shape) => made('LogSoftmax', [random.int(-shape.length, shape.length - 1)]),
  Softmax2d: images(2, () => made('Softmax2d')),
  PixelShuffle: images(2, (_, channels) => (channels % 4 === 0 ? made('PixelShuffle', [2]) : undefined)),
  PixelUnshuffle: images(2, (_, __, sizes) =>
    sizes.every((size) => size % 2 === 0) ? made('PixelUnshuffle', [2]) : undefined,
  ),
  ChannelShuffle: images(2, (random, channels) => made('ChannelShuffle', [random.pick([1, channels])])),
  Upsample: (random, shape) => {
    const axes = shape.length - 2;
    if (axes < 1 || axes > 3) return undefined;
    const linear = ['linear', 'bilinear', 'trilinear'][axes - 1];
    const mode = random.pick(['nearest', linear, linear]);
    const size = shape.slice(2).map((one) => random.int(1, one + 2));
    return made('Upsample', [], {
      mode,
      ...(random.chance() ? { size } : { scaleFactor: random.pick([2, 1.5]) }),
      ...(mode !== 'nearest' && { alignCorners: random.chance() }),
    });
  },
  RNN: recurrent('RNN'),
  GRU: recurrent('GRU'),
  LSTM: recurrent('LSTM'),
  RNNCell: cell('RNNCell'),
  GRUCell: cell('GRUCell'),
  LSTMCell: cell('LSTMCell'),
  MultiheadAttention: (random, shape) =>
    shape.length === 3
      ? {
          ...made(
            'MultiheadAttention',
            [lastSize(shape), headsOf(random, lastSize(shape))],
            random.some({
              bias: () => random.chance(),
              batchFirst: () => random.chance(),
            }),
          ),
          times: 3,
        }
      : undefined,
  TransformerEncoderLayer: (random, shape) =>
    shape.length === 3
      ? made('TransformerEncoderLayer', [lastSize(shape), headsOf(random, lastSize(shape))], {
          dimFeedforward: random.int(1, 5),
          dropout: 0,
          ...random.some({
            activation: () => random.pick(['relu', 'gelu']),
            normFirst: () => random.chance(),
            batchFirst: () => random.chance(),
          }),
        })
      : undefined,
  TransformerDecoderLayer: (random, shape) =>
    shape.length === 3
      ? {
          ...made('TransformerDecoderLayer', [lastSize(shape), headsOf(random, lastSize(shape))], {
            dimFeedforward: random.int(1, 5),
            dropout: 0,
            ...random.some({ normFirst: () => random.chance(), batchFirst: () => random.chance() }),
          }),
          times: 2,
        }
      : undefined,
  Bilinear: (random, shape) =>
    shape.length === 2
      ? { ...made('Bilinear', [shape[1], shape[1], random.int(1, 3)]), times: 2 }
      : undefined,
  CosineSimilarity: (_, shape) =>
    shape.length > 2 ? { ...made('CosineSimilarity', [], { dim: 1 }), times: 2 } : undefined,
  Dropout: () => made('Dropout', [0]),
  Embedding: (random, _, dtype) =>
    dtype === 'int64'
      ? made(
          'Embedding',
          [tokens, random.int(2, 6)],
          random.some({ paddingIdx: () => random.int(0, tokens - 1) }),
        )
      : undefined,
  EmbeddingBag: (random, shape, dtype) =>
    dtype === 'int64' && shape.length === 2
      ? made(
          'EmbeddingBag',
          [tokens, random.int(2, 6)],
          random.some({ mode: () => random.pick(['sum', 'mean', 'max']) }),
        )
      : undefined,
};

/** Integers of inputs are below. */
export const tokens = 11;
