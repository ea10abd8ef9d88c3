import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
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
  const { paddingIdx } = options;
  if (input.dtype !== 'int64' || !isFloat(weight) || weight.shape.length !== 2) {
    throw new ShapeError(
      `embedding: expected rows int64[…] and a table float32[V,D], got ${describeType(input)} and ${describeType(weight)}.`,
    );
  }
  const [count] = weight.shape;
  const rows = checkIndices('embedding', 'rows', input.value, { least: 0, count });
  return new Tensor(gather(weight.value, rows, paddingRow('embedding', paddingIdx, count)));
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
