import { ShapeError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';

/**
 * Non-negative axes in ascending order. Negative axes count from the last; duplicates are an error. A value without dimensions
 * accepts axis 0, as in torch, which stands for no axis.
 */
export function normalizeAxes(op: string, axes: readonly number[], value: Value): number[] {
  const given: unknown = axes;
  if (!Array.isArray(given)) {
    throw new ShapeError(`${op}: axes must be an array, got ${String(given)}. Write [${String(given)}].`);
  }
  const isScalar = value.shape.length === 0;
  const normal = axes.map((axis) => inRange(op, axis, value, 1));
  const twice = normal.find((axis, position) => normal.indexOf(axis) !== position);
  if (twice !== undefined) {
    throw new ShapeError(
      `${op}: expected different axes of ${describeType(value)}, got axis ${twice} twice in [${axes.join()}].`,
    );
  }
  return isScalar ? [] : normal.sort((a, b) => a - b);
}

export function normalizeAxis(op: string, axis: number, value: Value): number {
  return inRange(op, axis, value);
}

/** Converts a negative axis to a non-negative one. */
function inRange(op: string, axis: number, value: Value, least = 0): number {
  const rank = Math.max(value.shape.length, least);
  if (!Number.isInteger(axis) || axis < -rank || axis >= rank) {
    throw new ShapeError(
      `${op}: expected axes from ${-rank} to ${rank - 1} for ${describeType(value)}, got ${axis}.`,
    );
  }
  return axis < 0 ? axis + rank : axis;
}
