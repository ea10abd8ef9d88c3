import { isTensorSample, shapedArrayOf } from '../tensor-sample.ts';

/**
 * Returns the buffers of a batch's arrays, which can be transferred to another thread because nothing else
 * uses them.
 */
export function transferable(batch: unknown): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  visit(batch, (array) => {
    if (array.buffer instanceof ArrayBuffer) buffers.add(array.buffer);
  });
  return [...buffers];
}

function visit(value: unknown, meet: (array: ArrayBufferView) => void): void {
  if (ArrayBuffer.isView(value)) meet(value);
  else if (isContainer(value)) for (const part of Object.values(value)) visit(part, meet);
}

/** Samples that can be sent to another thread: tensors become `{ data, shape }`, other values stay. */
export function withoutTensors(value: unknown, path = 'sample'): unknown {
  if (isTensorSample(value)) return shapedArrayOf(value, path);
  if (Array.isArray(value)) return value.map((part, index) => withoutTensors(part, `${path}[${index}]`));
  if (!isContainer(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([field, part]) => [field, withoutTensors(part, `${path}.${field}`)]),
  );
}

/**
 * Copies the arrays of samples: cloning a view would clone its whole buffer, and transferring it would detach
 * it from its owner.
 */
export function ownCopy(value: unknown): unknown {
  // The `slice` of a Buffer does not copy.
  if (Buffer.isBuffer(value)) return new Uint8Array(value);
  if (ArrayBuffer.isView(value) && 'slice' in value) return (value as Uint8Array).slice();
  if (Array.isArray(value)) return value.map(ownCopy);
  if (!isContainer(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([field, part]) => [field, ownCopy(part)]));
}

/** Lists and plain objects; other values are cloned unchanged. */
function isContainer(value: unknown): value is Record<string, unknown> | unknown[] {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}
