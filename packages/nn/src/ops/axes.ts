import { ShapeError } from '../errors.ts';
import { describeType, type Value } from '../graph/node.ts';

/** Non-negative axes in ascending order. Negative axes count from the last; duplicates are an error. */
export function normalizeAxes(op: string, axes: readonly number[], value: Value): number[] {
  const given: unknown = axes;
  if (!Array.isArray(given)) {
    throw new ShapeError(`${op}: axes must be an array, given ${String(given)}. Write [${String(given)}].`);
  }
  const rank = value.shape.length;
  const normal = axes.map((axis) => {
    if (!Number.isInteger(axis) || axis < -rank || axis >= rank) {
      throw new ShapeError(
        `${op}: expected axes from ${-rank} to ${rank - 1} for ${describeType(value)}, got ${axis}.`,
      );
    }
    return axis < 0 ? axis + rank : axis;
  });
  const twice = normal.find((axis, position) => normal.indexOf(axis) !== position);
  if (twice !== undefined) {
    throw new ShapeError(
      `${op}: expected different axes of ${describeType(value)}, got axis ${twice} twice in [${axes.join()}].`,
    );
  }
  return normal.sort((a, b) => a - b);
}

export function normalizeAxis(op: string, axis: number, value: Value): number {
  return normalizeAxes(op, [axis], value)[0];
}
