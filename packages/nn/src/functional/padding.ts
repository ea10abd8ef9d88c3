import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { roundedOnce } from '../tensor/rounded-once.ts';
import { autocastTensors } from './autocast-tensors.ts';
import type { Scalar } from '../dtype.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import { concat, expand, pad as padWith, slice } from '../ops/shape.ts';
import { flip } from '../ops/slicing.ts';
import { Tensor } from '../tensor/tensor.ts';

/**
 * The padding of a tensor: a constant; the tensor mirrored at its first and last element; its first and last element
 * repeated; its elements from the other end.
 */
export type PaddingMode = 'constant' | 'reflect' | 'replicate' | 'circular';

/** Options of {@link pad}. */
export interface PadOptions {
  /** Default: 'constant'. */
  mode?: PaddingMode;
  /** Padding value of mode 'constant'; truncated for int64. Default: 0. */
  value?: Scalar;
}

/**
 * Adds elements around the last dimensions (torch.nn.functional.pad).
 *
 * - `input`: of any dtype; modes other than 'constant' need float32
 * - `amounts`: numbers of elements before and after the last dimension, then before and after the one before it, and so
 *   on: [left, right, top, bottom] for images. A negative number removes elements.
 * @throws ShapeError if the tensor has too few dimensions, or a dimension is too short for the mode
 */
export function pad(
  ...given: Call<[input: Tensor, pad: readonly number[], options?: PadOptions | undefined], 'F.pad'>
): Tensor {
  const [unpadded, amounts, options] = arranged('F.pad', given);
  const { mode = 'constant', value } = options;
  if (!['constant', 'reflect', 'replicate', 'circular'].includes(mode)) {
    throw new ArgumentError(
      `pad: mode must be 'constant', 'reflect', 'replicate' or 'circular', got ${JSON.stringify(mode)}.`,
    );
  }
  if (value !== undefined && mode !== 'constant') {
    throw new ArgumentError(`pad: a value requires mode 'constant', got mode '${mode}'.`);
  }
  if (!isPairs(amounts)) {
    throw new ArgumentError(
      `pad: expected two integers for each of the last dimensions, got ${JSON.stringify(amounts)}.`,
    );
  }
  const autocastName = mode === 'reflect' ? 'reflectionPad' : 'replicationPad';
  const isAutocast = mode === 'reflect' || mode === 'replicate';
  const [input] = isAutocast ? autocastTensors(autocastName, unpadded) : [unpadded];
  const rank = input.shape.length;
  if (amounts.length > 2 * rank) {
    throw new ShapeError(
      `pad: expected at most ${2 * rank} numbers for ${describeType(input)}, got [${amounts.join()}].`,
    );
  }
  const sides = input.shape.map((_, axis) => {
    const fromEnd = rank - 1 - axis;
    return { before: amounts[2 * fromEnd] ?? 0, after: amounts[2 * fromEnd + 1] ?? 0 };
  });
  const grown = sides.map(({ before, after }) => ({
    before: Math.max(before, 0),
    after: Math.max(after, 0),
  }));
  const cut = (whole: Value) =>
    sides.reduce((part, { before, after }, axis) => {
      const [start, end] = [Math.max(-before, 0), part.shape[axis] - Math.max(-after, 0)];
      if (start > end) {
        throw new ShapeError(`pad: ${describeType(input)} has too few elements for [${amounts.join()}].`);
      }
      return slice(part, axis, start, end);
    }, whole);
  if (mode === 'constant') {
    const [before, after] = [grown.map((side) => side.before), grown.map((side) => side.after)];
    return new Tensor(cut(padWith(input.value, before, after, value)));
  }
  const extend = (value: Value) =>
    grown.reduce((padded, side, axis) => extended(padded, axis, side, mode), value);
  // As in torch, elements wrap around after negative padding has removed some. The gradient adds copies of an element in float32.
  return roundedOnce(
    [input],
    ({ value }) => new Tensor(mode === 'circular' ? extend(cut(value)) : cut(extend(value))),
  );
}

/** JavaScript may pass anything. */
function isPairs(amounts: readonly number[]): boolean {
  return Array.isArray(amounts) && amounts.length % 2 === 0 && amounts.every(Number.isInteger);
}

function extended(
  value: Value,
  axis: number,
  { before, after }: { before: number; after: number },
  mode: Exclude<PaddingMode, 'constant'>,
): Value {
  if (before === 0 && after === 0) return value;
  const size = value.shape[axis];
  const most = { reflect: size - 1, replicate: Infinity, circular: size }[mode];
  if (size === 0 || before > most || after > most) {
    throw new ShapeError(
      `pad: mode '${mode}' adds at most ${Math.max(most, 0)} elements on each side of dimension ${axis} of ${describeType(value)}, got ${before} and ${after}.`,
    );
  }
  const part = (start: number, end: number) => slice(value, axis, start, end);
  const repeated = (position: number, count: number) =>
    expand(part(position, position + 1), value.shape.with(axis, count));
  const sides = {
    reflect: () => [flip(part(1, before + 1), [axis]), flip(part(size - 1 - after, size - 1), [axis])],
    replicate: () => [repeated(0, before), repeated(size - 1, after)],
    circular: () => [part(size - before, size), part(0, after)],
  }[mode]();
  const parts = [sides[0], value, sides[1]].filter(({ shape }) => shape[axis] > 0);
  return concat(parts, axis);
}
