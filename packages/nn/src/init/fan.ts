import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { ArgumentError } from '../errors/errors.ts';
import { requireOneOf } from '../checks/require-one-of.ts';
import { requireOptions, type OptionNames } from '../checks/require-options.ts';
import { normal, randomOptions, uniform, type RandomInitOptions } from './random.ts';
import { initialize, requireNumbers, type Initializable } from './in-place.ts';

/** A function after a layer, for {@link calculateGain}. */
export type Nonlinearity =
  'linear' | 'conv1d' | 'conv2d' | 'conv3d' | 'sigmoid' | 'tanh' | 'relu' | 'leakyRelu' | 'selu';

/** Options of {@link xavierUniform} and {@link xavierNormal}. */
export interface XavierOptions extends RandomInitOptions {
  /** Scaling factor of the standard deviation. Default: 1. */
  gain?: number;
}

/** Options of {@link kaimingUniform} and {@link kaimingNormal}. */
export interface KaimingOptions extends RandomInitOptions {
  /** Negative slope of a leaky ReLU after the layer. Default: 0. */
  a?: number;
  /** 'fanIn' preserves the variance in the forward pass, 'fanOut' in the backward pass. Default: 'fanIn'. */
  mode?: 'fanIn' | 'fanOut';
  /** The nonlinearity after the layer. Default: 'leakyRelu'. */
  nonlinearity?: Nonlinearity;
}

const xavierOptions: OptionNames<XavierOptions> = { ...randomOptions, gain: true };
const kaimingOptions: OptionNames<KaimingOptions> = {
  ...randomOptions,
  a: true,
  mode: true,
  nonlinearity: true,
};

const gains: Readonly<Record<Nonlinearity, number | ((slope: number) => number)>> = {
  linear: 1,
  conv1d: 1,
  conv2d: 1,
  conv3d: 1,
  sigmoid: 1,
  tanh: 5 / 3,
  relu: Math.SQRT2,
  leakyRelu: (slope) => Math.sqrt(2 / (1 + slope ** 2)),
  selu: 3 / 4,
};

/**
 * The recommended gain of a layer before a nonlinearity (torch.nn.init.calculate_gain).
 *
 * - `param`: negative slope of 'leakyRelu'. Default: 0.01.
 */
export function calculateGain(
  ...given: Call<[nonlinearity: Nonlinearity, param?: number | undefined], 'nn.init.calculateGain'>
): number {
  const [nonlinearity, param = 0.01] = arranged('nn.init.calculateGain', given);
  const gain = Object.hasOwn(gains, nonlinearity) ? gains[nonlinearity] : undefined;
  if (gain === undefined) {
    throw new ArgumentError(
      `nn.init.calculateGain: expected one of ${Object.keys(gains).join(', ')}, got ${nonlinearity}.`,
    );
  }
  requireNumbers('calculateGain', { param });
  return typeof gain === 'number' ? gain : gain(param);
}

/** Uniform in ±gain·√(6 / (fanIn + fanOut)) (torch.nn.init.xavier_uniform_; Glorot and Bengio, 2010). Returns the tensor. */
export function xavierUniform<T extends Initializable>(
  ...given: Call<[tensor: T, options?: XavierOptions | undefined], 'nn.init.xavierUniform'>
): T {
  const [tensor, options] = arranged('nn.init.xavierUniform', given);
  const { std, generator } = xavier('xavierUniform', tensor, options);
  return uniform(tensor, { a: -Math.sqrt(3) * std, b: Math.sqrt(3) * std, ...generator });
}

/** Normal with standard deviation gain·√(2 / (fanIn + fanOut)) (torch.nn.init.xavier_normal_). Returns the tensor. */
export function xavierNormal<T extends Initializable>(
  ...given: Call<[tensor: T, options?: XavierOptions | undefined], 'nn.init.xavierNormal'>
): T {
  const [tensor, options] = arranged('nn.init.xavierNormal', given);
  const { std, generator } = xavier('xavierNormal', tensor, options);
  return normal(tensor, { std, ...generator });
}

/** Uniform in ±gain·√(3 / fan) (torch.nn.init.kaiming_uniform_; He et al., 2015). Returns the tensor. */
export function kaimingUniform<T extends Initializable>(
  ...given: Call<[tensor: T, options?: KaimingOptions | undefined], 'nn.init.kaimingUniform'>
): T {
  const [tensor, options] = arranged('nn.init.kaimingUniform', given);
  const { std, generator } = kaiming('kaimingUniform', tensor, options);
  return uniform(tensor, { a: -Math.sqrt(3) * std, b: Math.sqrt(3) * std, ...generator });
}

/** Normal with standard deviation gain / √fan (torch.nn.init.kaiming_normal_). Returns the tensor. */
export function kaimingNormal<T extends Initializable>(
  ...given: Call<[tensor: T, options?: KaimingOptions | undefined], 'nn.init.kaimingNormal'>
): T {
  const [tensor, options] = arranged('nn.init.kaimingNormal', given);
  const { std, generator } = kaiming('kaimingNormal', tensor, options);
  return normal(tensor, { std, ...generator });
}

function xavier(name: string, tensor: Initializable, options: XavierOptions) {
  requireOptions(`nn.init.${name}`, options, xavierOptions);
  const { gain = 1, ...generator } = options;
  requireNumbers(name, { gain });
  const { fanIn, fanOut } = fansOf(name, tensor);
  return { std: gain * Math.sqrt(2 / (fanIn + fanOut)), generator };
}

function kaiming(name: string, tensor: Initializable, options: KaimingOptions) {
  requireOptions(`nn.init.${name}`, options, kaimingOptions);
  const { a = 0, mode = 'fanIn', nonlinearity = 'leakyRelu', ...generator } = options;
  const fans: Readonly<Record<string, number>> = fansOf(name, tensor);
  requireOneOf(`nn.init.${name}`, 'mode', mode, Object.keys(fans));
  return { std: calculateGain(nonlinearity, a) / Math.sqrt(fans[mode]), generator };
}

/** Inputs of one output, and outputs of one input, of a weight [out, in, …kernel]. */
function fansOf(name: string, tensor: Initializable): { fanIn: number; fanOut: number } {
  initialize(name, tensor, () => undefined, [2, Infinity]);
  const [out, input, ...kernel] = tensor.shape;
  const size = kernel.reduce((product, length) => product * length, 1);
  return { fanIn: input * size, fanOut: out * size };
}
