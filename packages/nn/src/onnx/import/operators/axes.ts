import type { Tensor } from '../../../tensor/tensor.ts';
import { axisOf } from '../folding.ts';

/** Applies a function to all dimensions from an axis on, merged into one, as ONNX did before opset 13. */
export function overAxis(x: Tensor, given: number, compute: (x: Tensor, axis: number) => Tensor): Tensor {
  const rank = x.shape.length;
  const axis = axisOf(given, rank);
  if (axis === rank) return compute(x.unsqueeze(-1), rank).view(...x.shape);
  if (axis === rank - 1) return compute(x, axis);
  return compute(x.flatten(axis), axis).view(...x.shape);
}
