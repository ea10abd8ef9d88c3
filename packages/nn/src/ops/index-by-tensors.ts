import { ShapeError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { describeType, sizeOf } from '../value-type.ts';
import { normalizeAxis } from './axes.ts';
import { broadcastShape } from './broadcast.ts';
import { remainder } from './division.ts';
import { add, mul } from './elementwise.ts';
import { checkIndices } from './own/check-indices.ts';
import { reshape, transpose } from './shape.ts';
import { int64Constant } from './source.ts';
import { gather } from './table-rows.ts';

/** Positions along an axis, int64. */
export interface IndexOfAxis {
  readonly axis: number;
  readonly index: Value;
}

/** Selects the parts at `positions`, int64 of at most one dimension, along an axis (torch.index_select). */
export function selectAt(value: Value, dim: number, positions: Value): Value {
  const axis = normalizeAxis('indexSelect', dim, value);
  if (positions.dtype !== 'int64' || positions.shape.length > 1) {
    throw new ShapeError(
      `indexSelect: expected int64 positions with 1 dimension, got ${describeType(positions)}.`,
    );
  }
  const inRange = checkIndices('indexSelect', 'positions', positions, { least: 0, count: value.shape[axis] });
  return partsAt(value, [axis], reshape(inRange, [sizeOf(positions.shape)]));
}

/**
 * Python's indexing by tensors, each of one axis: `x[:, rows, columns]`. The indices broadcast, and their dimensions replace those of
 * the axes: where the axes are, if these follow one another, else before all others. Negative positions count from the end.
 */
export function indexBy(value: Value, places: readonly IndexOfAxis[]): Value {
  const inRange = places.map(({ axis, index }) => {
    if (index.dtype !== 'int64') throw notPositions(value, index);
    const count = value.shape[axis];
    return checkIndices('at', 'positions', index, { least: -count, count });
  });
  const axes = places.map(({ axis }) => axis);
  if (places.length === 1) return partsAt(value, axes, inRange[0]);
  const together = inRange.reduce<Value | undefined>((outer, index, place) => {
    const count = int64Constant([], [value.shape[axes[place]]]);
    const inner = remainder(index, count);
    if (outer === undefined) return inner;
    broadcastShape('at', outer, inner);
    return add(mul(outer, count), inner);
  }, undefined);
  return partsAt(value, axes, together!);
}

/** The parts of a value at positions in the flattened axes, whose dimensions the positions' shape replaces. */
function partsAt(value: Value, axes: readonly number[], positions: Value): Value {
  const others = [...value.shape.keys()].filter((axis) => !axes.includes(axis));
  const order = [...axes, ...others];
  const first = axes.every((axis, place) => axis === place) ? value : transpose(value, order);
  const sizes = first.shape.slice(0, axes.length);
  const rest = first.shape.slice(axes.length);
  const selected = gather(
    reshape(first, [sizeOf(sizes), sizeOf(rest)]),
    reshape(positions, [sizeOf(positions.shape)]),
  );
  const whole = reshape(selected, [...positions.shape, ...rest]);
  const followOneAnother = axes.every((axis, place) => axis === axes[0] + place);
  const before = followOneAnother ? axes[0] : 0;
  if (before === 0) return whole;
  const ofPositions = positions.shape.length;
  const dims = [...whole.shape.keys()];
  const beforeAxes = dims.slice(ofPositions, ofPositions + before);
  return transpose(whole, [
    ...beforeAxes,
    ...dims.slice(0, ofPositions),
    ...dims.slice(ofPositions + before),
  ]);
}

function notPositions(value: Value, index: Value): ShapeError {
  const isMask = index.dtype === 'bool';
  const instead = isMask
    ? ' A mask is not an index, because shapes are known before elements: write x.maskedFill(mask, number) or where(mask, x, other).'
    : ' Write index.long().';
  return new ShapeError(
    `at: expected int64 positions for ${describeType(value)}, got ${describeType(index)}.${instead}`,
  );
}
