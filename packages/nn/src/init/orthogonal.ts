import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { defaultGenerator } from '../random/generator.ts';
import { initialize, requireNumbers, type Initializable } from './in-place.ts';
import { type RandomInitOptions } from './random.ts';

/** Options of {@link orthogonal}. */
export interface OrthogonalOptions extends RandomInitOptions {
  /** Factor of all elements. Default: 1. */
  gain?: number;
}

/**
 * Fills [rows, …] with orthonormal rows or columns, whichever are fewer, of the QR decomposition of normal numbers
 * (torch.nn.init.orthogonal_; Saxe et al., 2013). Returns the tensor.
 */
export function orthogonal<T extends Initializable>(
  ...given: Call<[tensor: T, options?: OrthogonalOptions | undefined], 'nn.init.orthogonal'>
): T {
  const [tensor, options] = arranged('nn.init.orthogonal', given);
  const { gain = 1, generator = defaultGenerator } = options;
  requireNumbers('orthogonal', { gain });
  return initialize(
    'orthogonal',
    tensor,
    (data) => {
      const [rows] = tensor.shape;
      const columns = data.length / Math.max(rows, 1);
      generator.fillNormal(data, 0, 1);
      // The vectors to orthonormalize, of the longer dimension.
      const areRows = rows < columns;
      const [count, length] = areRows ? [rows, columns] : [columns, rows];
      const place = (vector: number, i: number) => (areRows ? vector * columns + i : i * columns + vector);
      const vectors = Array.from({ length: count }, (_, vector) =>
        Float64Array.from({ length }, (_, i) => data[place(vector, i)]),
      );
      orthonormalize(vectors);
      for (const [vector, elements] of vectors.entries()) {
        for (let i = 0; i < length; i += 1) data[place(vector, i)] = elements[i] * gain;
      }
    },
    [2, Infinity],
  );
}

/** Gram and Schmidt's method, twice for each vector, in double precision: R of the QR decomposition has a positive diagonal. */
function orthonormalize(vectors: readonly Float64Array[]): void {
  for (const [position, vector] of vectors.entries()) {
    for (const other of [...vectors.slice(0, position), ...vectors.slice(0, position)]) {
      const part = product(vector, other);
      for (let i = 0; i < vector.length; i += 1) vector[i] -= part * other[i];
    }
    const norm = Math.sqrt(product(vector, vector));
    for (let i = 0; i < vector.length; i += 1) vector[i] /= norm;
  }
}

function product(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
  return sum;
}
