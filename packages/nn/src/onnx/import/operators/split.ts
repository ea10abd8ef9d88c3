import type { Tensor } from '../../../tensor.ts';
import { axisOf } from '../folding.ts';
import type { OperatorCall } from '../call.ts';

/** Parts along an axis, of given sizes or of equal ones. */
export function split(call: OperatorCall): Tensor[] {
  const x = call.tensor(0);
  const axis = axisOf(call.int('axis', 0), x.shape.length);
  const count = call.node.outputs.length;
  const sizes = call.list('split', 1);
  return sizes ? x.split(sizes, axis) : x.split(Math.ceil(x.shape[axis] / count), axis);
}
