import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isFloat } from '../dtype.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { describeType, sizeOf } from '../value-type.ts';
import { dropout as dropoutOf } from '../ops/own/dropout.ts';
import { input as inputOf, number } from '../ops/source.ts';
import { usesOwnOperators } from '../ops/own/enabled.ts';
import { defaultGenerator } from '../random/generator.ts';
import { dropoutMask } from '../random/philox.ts';
import { Tensor } from '../tensor/tensor.ts';
import { requireNumber } from '../checks/require-number.ts';
import { type OptionNames } from '../checks/require-options.ts';

/** Options of {@link dropout}. */
export interface DropoutOptions {
  /** If false, returns the input unchanged. Default: true. */
  training?: boolean;
}

export const dropoutOptions: OptionNames<DropoutOptions> = { training: true };

/**
 * Zeroes each element with probability p and divides the others by 1 − p, which keeps the expectation
 * (torch.nn.functional.dropout; Hinton et al., 2012).
 *
 * This call draws a key from the default generator. The mask is a function of the key and the position of an element
 * (Philox 4x32-10, which torch uses on CUDA), so it is the same for any number of threads and is not stored.
 *
 * - `p`: Probability. Default: 0.5.
 */
export function dropout(
  ...given: Call<[input: Tensor, p?: number | undefined, options?: DropoutOptions | undefined], 'F.dropout'>
): Tensor {
  const [input, p = 0.5, options] = arranged('F.dropout', given);
  const { training = true } = options;
  requireProbability('dropout', p);
  if (!isFloat(input)) {
    throw new ShapeError(`dropout: expected float32, got ${describeType(input)}.`);
  }
  if (!training || p === 0) return input;
  // As in torch, p = 0 and p = 1 draw no random numbers.
  if (p === 1) return input.mul(0);
  const mask = drawMask(p);
  if (!usesOwnOperators()) {
    const factors = dropoutMask(sizeOf(input.shape), mask.key, mask.limit, mask.scale);
    return input.mul(new Tensor(inputOf('float32', input.shape, { data: factors })));
  }
  return new Tensor(dropoutOf(input.value, ...valuesOf(mask)));
}

/** The mask of one call, as operators of the addon read it: key and limit, scale. Undefined for p = 0. @param p below 1 */
export function maskValues(p: number): readonly [numbers: Value, scale: Value] | undefined {
  return p === 0 ? undefined : valuesOf(drawMask(p));
}

/** Draws a key from the default generator. */
function drawMask(p: number) {
  const limit = Math.max(1, Math.round((1 - p) * 2 ** 32)) - 1;
  return { key: defaultGenerator.nextKey(), limit, scale: 1 / (1 - p) };
}

function valuesOf({ key, limit, scale }: ReturnType<typeof drawMask>): readonly [Value, Value] {
  const numbers = BigInt64Array.of(BigInt.asIntN(64, key), BigInt(limit));
  return [inputOf('int64', [2], { data: numbers }), number(scale)];
}

export function requireProbability(name: string, p: number): void {
  requireNumber(name, { p });
  if (!(p >= 0 && p <= 1)) throw new ArgumentError(`${name}: p must be from 0 to 1, got ${p}.`);
}
