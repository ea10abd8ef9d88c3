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
   * If true, the gradient of each row is divided by the number of its look-ups in the input. Not with `sparse`, as in torch.
   * Default: false.
   */
  scaleGradByFreq?: boolean | undefined;
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
  const { paddingIdx } = options;
  const { scaleGradByFreq, sparse } = gradientOptions('embedding', options);
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
      ...(scaleGradByFreq && { scalesByFrequency: scaleGradByFreq }),
      ...(sparse && { sparse }),
    }),
  );
}

/** @throws ArgumentError if an option is not true or false, or if both are true */
export function gradientOptions(
  name: string,
  { scaleGradByFreq = false, sparse = false }: Pick<EmbeddingOptions, 'scaleGradByFreq' | 'sparse'>,
): { scaleGradByFreq: boolean; sparse: boolean } {
  requireBoolean(`${name}: scaleGradByFreq`, scaleGradByFreq);
  requireBoolean(`${name}: sparse`, sparse);
  if (scaleGradByFreq && sparse) {
    throw new ArgumentError(
      `${name}: expected scaleGradByFreq or sparse, got both: only dense gradients are scaled by frequency. Leave one out.`,
    );
  }
  return { scaleGradByFreq, sparse };
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
