import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { ArgumentError } from '../errors/errors.ts';
import { defaultGenerator } from '../random/generator.ts';
import { initialize, requireNumbers, type Initializable } from './in-place.ts';
import { type RandomInitOptions } from './random.ts';

/** Options of {@link sparse}. */
export interface SparseOptions extends RandomInitOptions {
  /** Standard deviation of the other elements. Default: 0.01. */
  std?: number;
}

/**
 * Fills a matrix with normal numbers, and sets a fraction of each column to zero (torch.nn.init.sparse_; Martens, 2010).
 * Returns the tensor.
 *
 * - `sparsity`: fraction of zeros in a column, from 0 to 1; rounded up to whole elements
 */
export function sparse<T extends Initializable>(
  ...given: Call<[tensor: T, sparsity: number, options?: SparseOptions | undefined], 'nn.init.sparse'>
): T {
  const [tensor, sparsity, options] = arranged('nn.init.sparse', given);
  const { std = 0.01, generator = defaultGenerator } = options;
  requireNumbers('sparse', { sparsity, std });
  if (!(sparsity >= 0 && sparsity <= 1)) {
    throw new ArgumentError(`nn.init.sparse: sparsity must lie between 0 and 1, got ${sparsity}.`);
  }
  return initialize(
    'sparse',
    tensor,
    (data) => {
      const [rows, columns] = tensor.shape;
      generator.fillNormal(data, 0, std);
      const zeros = Math.ceil(sparsity * rows);
      for (let column = 0; column < columns; column += 1) {
        for (const row of generator.permutation(rows).subarray(0, zeros)) data[row * columns + column] = 0;
      }
    },
    [2, 2],
  );
}
