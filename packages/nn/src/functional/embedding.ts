import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { requireBoolean } from '../checks/require-boolean.ts';
import { isFloat } from '../dtype.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import { gather } from '../ops/table-rows.ts';
import { checkIndices } from '../ops/own/check-indices.ts';
import { Tensor } from '../tensor/tensor.ts';

/** Options of {@link embedding} and of `nn.Embedding`. */
export interface EmbeddingOptions {
  /** Row of the padding token, which receives no gradient. Negative values count from the last row. */
  paddingIdx?: number | undefined;
  /**
   * If true, the gradient of the table consists of the rows that are looked up: a `SparseGradient`, for `optim.SGD`,
   * `optim.Adagrad` and `optim.SparseAdam`. Those update only these rows, so the cost of a step does not depend on the size of the
   * table. If the loss also reads the table otherwise, or if the table is computed, its gradient is dense. Default: false.
   */
  sparse?: boolean | undefined;
}

/**
 * Looks up rows of a table (torch.nn.functional.embedding). Gradients are summed in the order of the input, so the result
 * is deterministic.
 *
 * - `input`: int64 of any shape, rows from 0 to V − 1
 * - `weight`: [V, D]
 * @returns [...input, D]
 * @throws ArgumentError if a row is out of range; for computed rows, when the graph runs
 */
export function embedding(
  ...given: Call<[input: Tensor, weight: Tensor, options?: EmbeddingOptions | undefined], 'F.embedding'>
): Tensor {
  const [input, weight, options] = arranged('F.embedding', given);
  const { paddingIdx, sparse = false } = options;
  requireBoolean('embedding: sparse', sparse);
  if (input.dtype !== 'int64' || !isFloat(weight) || weight.shape.length !== 2) {
    throw new ShapeError(
      `embedding: expected rows int64[…] and a table float32[V,D], got ${describeType(input)} and ${describeType(weight)}.`,
    );
  }
  const [count] = weight.shape;
  const rows = checkIndices('embedding', 'rows', input.value, { least: 0, count });
  const padding = paddingRow('embedding', paddingIdx, count);
  return new Tensor(
    gather(weight.value, rows, {
      ...(padding !== undefined && { paddingRow: padding }),
      ...(sparse && { sparse }),
    }),
  );
}

/** The padding row as a non-negative index. */
export function paddingRow(name: string, paddingIdx: number | undefined, count: number): number | undefined {
  if (paddingIdx === undefined) return undefined;
  if (!Number.isInteger(paddingIdx) || paddingIdx < -count || paddingIdx >= count) {
    throw new ArgumentError(
      `${name}: paddingIdx must be an integer from ${-count} to ${count - 1}, got ${paddingIdx}.`,
    );
  }
  return paddingIdx < 0 ? paddingIdx + count : paddingIdx;
}
