import { BufferTensor } from '../tensor/buffer-tensor.ts';
import { ArgumentError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import { changeBy } from '../graph/changes.ts';
import { requireNothingPending } from '../executor/operation-queue.ts';
import { Parameter } from '../tensor/parameter.ts';
import { describeValue } from '../checks/describe-value.ts';

/** A tensor that the functions of `nn.init` can write. */
export type Initializable = Parameter | BufferTensor;

/**
 * Writes the elements of a parameter or buffer, unless an operation that reads them is pending.
 *
 * @param name of the function of `nn.init`
 * @param dims the supported numbers of dimensions. Default: any.
 */
export function initialize<T extends Initializable>(
  name: string,
  target: T,
  write: (data: Float32Array) => void,
  dims?: readonly [least: number, most: number],
): T {
  const where = `nn.init.${name}`;
  if (!(target instanceof Parameter || target instanceof BufferTensor)) {
    throw new ArgumentError(
      `${where}: expected a Parameter or a BufferTensor, got ${describeValue(target)}. Pass a parameter of a module, such as layer.weight.`,
    );
  }
  const [least, most] = dims ?? [0, Infinity];
  if (target.shape.length < least || target.shape.length > most) {
    const expected =
      least === most ? `${least}` : most === Infinity ? `at least ${least}` : `${least} to ${most}`;
    throw new ArgumentError(
      `${where}: expected a tensor of ${expected} dimensions, got ${describeType(target)}.`,
    );
  }
  requireNothingPending(where, [target]);
  write(target.data);
  target.recordChange(changeBy(`${where}()`));
  return target;
}

/** @throws ArgumentError unless all are numbers */
export function requireNumbers(where: string, numbers: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(numbers)) {
    if (typeof value !== 'number' || Number.isNaN(value)) {
      throw new ArgumentError(`nn.init.${where}: ${name} must be a number, got ${describeValue(value)}.`);
    }
  }
}
