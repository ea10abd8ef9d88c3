import { ArgumentError, ShapeError } from '../errors.ts';
import { describeType, sizeOf } from '../graph/node.ts';
import { input as inputOf } from '../ops/source.ts';
import { defaultGenerator } from '../random/generator.ts';
import { Tensor } from '../tensor.ts';
import { requireNumber } from '../nn/require.ts';
import { requireOptions, type OptionNames } from '../require-options.ts';

/** Options of {@link dropout}. */
export interface DropoutOptions {
  /** If false, returns the input unchanged. Default: true. */
  training?: boolean;
}

const dropoutOptions: OptionNames<DropoutOptions> = { training: true };

/**
 * Zeroes each element with probability p and divides the others by 1 − p, which keeps the expectation
 * (torch.nn.functional.dropout; Hinton et al., 2012).
 *
 * The mask is drawn from the default generator at this call, into an array that the graph reads, so all calls share one
 * program. With the same seed, torch on the CPU drops the same elements, unless it is built with Intel's MKL.
 *
 * @param p Probability. Default: 0.5.
 */
export function dropout(input: Tensor, p = 0.5, options: DropoutOptions = {}): Tensor {
  requireOptions('dropout', options, dropoutOptions);
  const { training = true } = options;
  requireProbability('dropout', p);
  if (input.dtype !== 'float32') {
    throw new ShapeError(`dropout: expected float32, got ${describeType(input)}.`);
  }
  if (!training || p === 0) return input;
  // As in torch, p = 0 and p = 1 draw no random numbers, so later masks match torch too.
  if (p === 1) return input.mul(0);
  const mask = new Float32Array(sizeOf(input.shape));
  defaultGenerator.fillBernoulli(mask, 1 - p, 1 / (1 - p));
  return input.mul(new Tensor(inputOf('float32', input.shape, { data: mask })));
}

export function requireProbability(name: string, p: number): void {
  requireNumber(name, { p });
  if (!(p >= 0 && p <= 1)) throw new ArgumentError(`${name}: p must be from 0 to 1, got ${p}.`);
}
