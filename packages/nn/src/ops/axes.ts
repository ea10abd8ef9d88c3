import { ShapeError } from '../errors.ts';
import { describeType, type Value } from '../graph/node.ts';

/** Axes counted from 0, ascending; negative ones count from the last. None may be there twice. */
export function normalizeAxes(op: string, axes: readonly number[], value: Value): number[] {
  const given: unknown = axes;
  if (!Array.isArray(given)) {
    throw new ShapeError(`${op}: axes must be an array, given ${String(given)}. Write [${String(given)}].`);
  }
  const rank = value.shape.length;
  const normal = axes.map((axis) => {
    if (!Number.isInteger(axis) || axis < -rank || axis >= rank) {
      throw new ShapeError(
        `${op}: axis ${axis} does not exist in ${describeType(value)}; axes go from ${-rank} to ${rank - 1}.`,
      );
    }
    return axis < 0 ? axis + rank : axis;
  });
  const twice = normal.find((axis, position) => normal.indexOf(axis) !== position);
  if (twice !== undefined) {
    throw new ShapeError(
      `${op}: axis ${twice} of ${describeType(value)} is named twice in [${axes.join()}]; name each axis once.`,
    );
  }
  return normal.sort((a, b) => a - b);
}

export function normalizeAxis(op: string, axis: number, value: Value): number {
  return normalizeAxes(op, [axis], value)[0];
}
