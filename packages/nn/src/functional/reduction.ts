import { isFloat } from '../dtype.ts';
import { ShapeError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import { reduced as reducedLosses } from '../ops/class-loss.ts';
import { requireOneOf } from '../checks/require-one-of.ts';
import { Tensor } from '../tensor/tensor.ts';

/** Reduction of the elementwise losses: their mean (weighted, if classes have weights), their sum, or none. */
export type Reduction = 'mean' | 'sum' | 'none';

/** Options of losses without others, such as {@link mseLoss} and `nn.MSELoss`. */
export interface ReductionOptions {
  /** Default: 'mean'. */
  reduction?: Reduction;
}

/** The losses, reduced. */
export function reduced(name: string, losses: Value, reduction: Reduction): Tensor {
  requireReduction(name, reduction);
  return new Tensor(reducedLosses(losses, reduction));
}

export function requireReduction(name: string, reduction: Reduction): void {
  requireOneOf(name, 'reduction', reduction, ['mean', 'sum', 'none']);
}

export function requireEqualShapes(name: string, input: Tensor, target: Tensor): void {
  if (!isFloat(input) || !isFloat(target) || input.shape.join() !== target.shape.join()) {
    throw new ShapeError(
      `${name}: expected two float32 tensors of the same shape, got ${describeType(input)} and ${describeType(target)}.`,
    );
  }
}
