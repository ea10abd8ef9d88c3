import { InvalidArgumentError } from '@ringrun/core';
import { Tensor, tensor, type TensorData } from '@ringrun/nn';
import type { InputsAndTarget } from './fit-options.ts';

/**
 * The fields of a batch as tensors, in their order: the inputs of `forward`, and the target last.
 *
 * @throws InvalidArgumentError for a batch without two fields, or a field that is no array of float32, int64 or bool
 */
export function tensorsOf(batch: unknown): InputsAndTarget {
  const fields = typeof batch === 'object' && batch !== null ? Object.entries(batch) : [];
  if (fields.length < 2) {
    throw new InvalidArgumentError(
      `Trainer: expected a batch with two fields, such as { image, label } or [x, y], got ${fields.length}. Pass inputs: (batch) => [...inputs, target].`,
    );
  }
  return fields.map(([name, field]) => tensorOf(name, field)) as unknown as InputsAndTarget;
}

function tensorOf(name: string, field: unknown): Tensor {
  if (field instanceof Tensor) return field;
  if (isData(field)) return tensor(field);
  const { data, shape } = Object(field) as { readonly data?: unknown; readonly shape?: readonly number[] };
  if (isData(data) && shape !== undefined) return tensor(data, [...shape]);
  throw new InvalidArgumentError(
    `Trainer: field ${name} of a batch: expected a tensor or an array of float32 or int64, got another value. Pass inputs: (batch) => [...inputs, target].`,
  );
}

function isData(data: unknown): data is TensorData {
  return data instanceof Float32Array || data instanceof BigInt64Array;
}

/** Number of samples: the first dimension of the first tensor or shaped array of a batch, or 1. */
export function samplesIn(batch: unknown): number {
  const fields = typeof batch === 'object' && batch !== null ? Object.values(batch) : [];
  for (const field of [batch, ...(fields as unknown[])]) {
    const { shape } = Object(field) as { readonly shape?: readonly number[] };
    if (shape !== undefined && shape.length > 0) return shape[0];
    if (ArrayBuffer.isView(field)) return (field as Float32Array).length;
  }
  return 1;
}
