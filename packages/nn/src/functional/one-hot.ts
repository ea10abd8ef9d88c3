import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import { arange } from '../tensor/creation.ts';
import { checkIndices } from '../ops/own/check-indices.ts';
import { Tensor } from '../tensor/tensor.ts';

/**
 * 1 at the class of each element and 0 elsewhere, in a new last dimension (torch.nn.functional.one_hot): [N] gives
 * [N, numClasses], int64. The number of classes is required, because shapes are known before elements.
 *
 * - `classes`: int64, from 0 to numClasses − 1
 * @throws ArgumentError if a class is out of range; for computed classes, when the graph runs
 */
export function oneHot(...given: Call<[tensor: Tensor, numClasses: number], 'F.oneHot'>): Tensor {
  const [classes, numClasses] = arranged('F.oneHot', given);
  if (classes.dtype !== 'int64') {
    throw new ShapeError(`oneHot: expected int64 classes, got ${describeType(classes)}.`);
  }
  if (!Number.isInteger(numClasses) || numClasses < 1) {
    throw new ArgumentError(`oneHot: expected a number of classes from 1, got ${String(numClasses)}.`);
  }
  const inRange = new Tensor(
    checkIndices('oneHot', 'classes', classes.value, { least: 0, count: numClasses }),
  );
  return inRange.unsqueeze(-1).eq(arange(numClasses)).long();
}
