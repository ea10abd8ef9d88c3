import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { ArgumentError } from '../errors/errors.ts';
import { defaultGenerator, type Generator } from '../random/generator.ts';
import { requirePositive } from '../checks/require-number.ts';
import { type OptionNames } from '../checks/require-options.ts';
import { truncatedNormal } from './truncated-normal.ts';
import { initialize, requireNumbers, type Initializable } from './in-place.ts';

/** Option of the random functions of `nn.init`. */
export interface RandomInitOptions {
  /** Random number generator. Default: the one seeded by `manualSeed`. */
  generator?: Generator;
}

/** Options of {@link uniform}. */
export interface UniformOptions extends RandomInitOptions {
  /** Lower bound. Default: 0. */
  a?: number;
  /** Upper bound, excluded. Default: 1. */
  b?: number;
}

/** Options of {@link normal}. */
export interface NormalOptions extends RandomInitOptions {
  /** Mean. Default: 0. */
  mean?: number;
  /** Standard deviation, at least 0. Default: 1. */
  std?: number;
}

/** Options of {@link truncNormal}. */
export interface TruncNormalOptions extends NormalOptions {
  /** Lower bound. Default: −2. */
  a?: number;
  /** Upper bound. Default: 2. */
  b?: number;
}

export const randomOptions: OptionNames<RandomInitOptions> = { generator: true };

/** Fills with numbers uniform in [a, b), bit-identical to torch (torch.nn.init.uniform_). Returns the tensor. */
export function uniform<T extends Initializable>(
  ...given: Call<[tensor: T, options?: UniformOptions | undefined], 'nn.init.uniform'>
): T {
  const [tensor, options] = arranged('nn.init.uniform', given);
  const { a = 0, b = 1, generator = defaultGenerator } = options;
  requireNumbers('uniform', { a, b });
  if (a > b) throw new ArgumentError(`nn.init.uniform: a must be at most b, got ${a} and ${b}.`);
  return initialize('uniform', tensor, (data) => {
    generator.fillUniform(data, a, b);
  });
}

/** Fills with normal numbers, bit-identical to torch (torch.nn.init.normal_). Returns the tensor. */
export function normal<T extends Initializable>(
  ...given: Call<[tensor: T, options?: NormalOptions | undefined], 'nn.init.normal'>
): T {
  const [tensor, options] = arranged('nn.init.normal', given);
  const { mean = 0, std = 1, generator = defaultGenerator } = options;
  requireStd('normal', mean, std);
  return initialize('normal', tensor, (data) => {
    generator.fillNormal(data, mean, std);
  });
}

/**
 * Fills with numbers of a normal distribution truncated to [a, b], bit-identical to torch 2.15
 * (torch.nn.init.trunc_normal_). Returns the tensor.
 */
export function truncNormal<T extends Initializable>(
  ...given: Call<[tensor: T, options?: TruncNormalOptions | undefined], 'nn.init.truncNormal'>
): T {
  const [tensor, options] = arranged('nn.init.truncNormal', given);
  const { mean = 0, std = 1, a = -2, b = 2, generator = defaultGenerator } = options;
  requireStd('truncNormal', mean, std);
  requirePositive('nn.init.truncNormal', { std });
  requireNumbers('truncNormal', { a, b });
  if (a > b) throw new ArgumentError(`nn.init.truncNormal: a must be at most b, got ${a} and ${b}.`);
  return initialize('truncNormal', tensor, (data) => {
    truncatedNormal(data, { mean, std, a, b }, generator);
  });
}

function requireStd(name: string, mean: number, std: number): void {
  requireNumbers(name, { mean, std });
  if (std < 0) throw new ArgumentError(`nn.init.${name}: std must be at least 0, got ${std}.`);
}
