import { dtypeOf, InvalidArgumentError } from '@ringrun/core';

/**
 * The element type of each field of a loader's batches, as in the first batch. Another type in a later batch would
 * silently change what the training computes.
 */
export class FieldTypes {
  readonly #first = new Map<string, string>();

  /** @throws InvalidArgumentError that names a field whose element type differs from the first batch */
  check(batch: unknown): void {
    this.#check(batch, 'sample');
  }

  #check(value: unknown, path: string): void {
    if (typeof value !== 'object' || value === null) return;
    if (isBatched(value)) {
      this.#compare(value.data, path);
      return;
    }
    if (Array.isArray(value)) {
      for (const [field, part] of value.entries()) this.#check(part, `${path}[${field}]`);
      return;
    }
    for (const [field, part] of Object.entries(value)) this.#check(part, `${path}.${field}`);
  }

  #compare(data: ArrayBufferView, path: string): void {
    const type = typeOf(data);
    const first = this.#first.get(path);
    if (first === undefined) this.#first.set(path, type);
    if (first === undefined || first === type) return;
    throw new InvalidArgumentError(
      `DataLoader: ${path} is ${type}, and was ${first} in the loader's first batch. ${cureFor([first, type])}`,
    );
  }
}

function isBatched(value: object): value is { data: ArrayBufferView } {
  return 'data' in value && ArrayBuffer.isView(value.data) && 'shape' in value && Array.isArray(value.shape);
}

function typeOf(data: ArrayBufferView): string {
  return (
    dtypeOf(data) ?? (data as { [Symbol.toStringTag]?: string })[Symbol.toStringTag] ?? 'of another type'
  );
}

function cureFor(types: readonly string[]): string {
  return types.includes('int64') && types.includes('float64')
    ? 'Numbers become int64 if all numbers of a batch are integers. Return BigInt(x) for classes, and Float32Array.of(x) for float targets.'
    : 'Return arrays of one type from the dataset.';
}
