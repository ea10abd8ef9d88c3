import { ArgumentError, ShapeError } from '../errors.ts';
import { describeType, sizeOf } from '../graph/node.ts';
import { input as inputOf } from '../ops/source.ts';
import { defaultGenerator } from '../random/generator.ts';
import { Tensor } from '../tensor.ts';
import { requireNumber } from '../nn/require.ts';
import { requireOptions, type OptionNames } from '../require-options.ts';

export interface DropoutOptions {
  /** Whether elements are dropped at all; true unless given. */
  training?: boolean;
}

const dropoutOptions: OptionNames<DropoutOptions> = { training: true };

/**
 * Each element 0 at a probability of p, else divided by 1 − p, so that the expectation stays (torch.nn.functional.dropout;
 * Hinton et al., 2012).
 *
 * What is dropped is drawn at this call, from the default generator, into an array that the graph reads: every call is the same
 * program. After the same seed torch on the CPU drops the same elements, unless it is built with Intel's MKL.
 *
 * @param p 0.5 unless given
 */
export function dropout(input: Tensor, p = 0.5, options: DropoutOptions = {}): Tensor {
  requireOptions('dropout', options, dropoutOptions);
  const { training = true } = options;
  requireProbability('dropout', p);
  if (input.dtype !== 'float32') {
    throw new ShapeError(`dropout: takes float32, given ${describeType(input)}.`);
  }
  if (!training || p === 0) return input;
  // No numbers are drawn where all is kept or nothing, as in torch, so that the masks after it are torch's too.
  if (p === 1) return input.mul(0);
  const mask = new Float32Array(sizeOf(input.shape));
  defaultGenerator.fillBernoulli(mask, 1 - p, 1 / (1 - p));
  return input.mul(new Tensor(inputOf('float32', input.shape, { data: mask })));
}

export function requireProbability(name: string, p: number): void {
  requireNumber(name, { p });
  if (!(p >= 0 && p <= 1)) throw new ArgumentError(`${name}: p must be from 0 to 1, given ${p}.`);
}
