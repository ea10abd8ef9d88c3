import type { AutocastFunction } from '../tensor/autocast-lists.ts';
import { autocastValues, isAutocastEnabled } from '../tensor/autocast.ts';
import { Tensor } from '../tensor/tensor.ts';

/** `autocastValues` of tensors. */
export function autocastTensors<Operands extends readonly (Tensor | undefined)[]>(
  name: AutocastFunction,
  ...operands: Operands
): { [Place in keyof Operands]: Operands[Place] extends Tensor ? Tensor : Tensor | undefined } {
  type Results = { [Place in keyof Operands]: Operands[Place] extends Tensor ? Tensor : Tensor | undefined };
  if (!isAutocastEnabled()) return operands as unknown as Results;
  const values = autocastValues(
    name,
    operands.map((one) => one?.value),
  );
  return operands.map((one, index) => {
    const value = values[index];
    return value === undefined || value === one?.value ? one : new Tensor(value);
  }) as unknown as Results;
}
