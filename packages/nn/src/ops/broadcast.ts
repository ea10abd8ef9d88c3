import { ShapeError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import { reduceSum } from './reduction.ts';
import { reshape } from './shape.ts';

/** Broadcast shape of two values by numpy's rule: from the last dimension on, sizes are equal or one of them is 1. */
export function broadcastShape(op: string, a: Value, b: Value): number[] {
  const rank = Math.max(a.shape.length, b.shape.length);
  const [beforeA, beforeB] = [rank - a.shape.length, rank - b.shape.length];
  const shape: number[] = [];
  for (let position = 0; position < rank; position += 1) {
    const left = position < beforeA ? 1 : a.shape[position - beforeA];
    const right = position < beforeB ? 1 : b.shape[position - beforeB];
    if (left !== right && left !== 1 && right !== 1) {
      throw new ShapeError(
        `${op}: ${describeType(a)} and ${describeType(b)} do not broadcast: ` +
          `dimension ${position - rank} is ${left} on one side and ${right} on the other; they must be equal, or one of them 1.`,
      );
    }
    shape.push(left === 1 ? right : left);
  }
  return shape;
}

/** Sums a gradient over broadcast dimensions to the operand's shape. */
export function sumToShape(gradient: Value, shape: readonly number[]): Value {
  const added = gradient.shape.length - shape.length;
  const axes = gradient.shape
    .map((_, axis) => axis)
    .filter((axis) => axis < added || (shape[axis - added] === 1 && gradient.shape[axis] !== 1));
  const summed = axes.length === 0 ? gradient : reduceSum(gradient, axes, true);
  return added === 0 ? summed : reshape(summed, shape);
}
