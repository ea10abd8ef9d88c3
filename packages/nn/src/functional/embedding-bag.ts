import { arranged } from '../calls/arrange.ts';
import type { Call } from '../calls/call.ts';
import { isFloat } from '../dtype.ts';
import { ArgumentError, ShapeError } from '../errors/errors.ts';
import { describeType } from '../value-type.ts';
import { checkIndices } from '../ops/own/check-indices.ts';
import { embeddingBag as bagsOf } from '../ops/own/embedding-bag.ts';
import { slice } from '../ops/shape.ts';
import { requireBoolean } from '../checks/require-boolean.ts';
import { requireOneOf } from '../checks/require-one-of.ts';
import { Tensor } from '../tensor/tensor.ts';
import { paddingRow } from './embedding.ts';

/** Options of `nn.EmbeddingBag`. */
export interface BagOptions {
  /** How the rows of a bag are reduced. Default: 'mean'. */
  mode?: 'sum' | 'mean' | 'max';
  /** If true, `offsets` ends with an additional element, the number of all rows. Default: `false`. */
  includeLastOffset?: boolean;
  /** Row of the padding token, which is left out and receives no gradient. Negative values count from the last row. */
  paddingIdx?: number | undefined;
  /**
   * If true, the gradient of the table consists of the rows that are looked up, as in `nn.Embedding`. Not with mode 'max'.
   * Default: false.
   */
  sparse?: boolean | undefined;
}

/** Options of {@link embeddingBag}. */
export interface EmbeddingBagOptions extends BagOptions {
  /** A factor for each row, of the shape of `input`; only with mode 'sum'. Default: 1. */
  perSampleWeights?: Tensor | undefined;
}

/**
 * The sum, mean or maximum of rows of a table, bag by bag (torch.nn.functional.embedding_bag), without an array of all rows. A
 * bag without rows is 0. Gradients are added in the order of the input, so the result is deterministic.
 *
 * - `input`: int64, rows from 0 to V − 1: [B, L], or [T] with offsets
 * - `weight`: the table, [V, D]
 * - `offsets`: where each bag begins, int64 [B] in increasing order from 0. New offsets do not recompile the graph.
 * @returns [B, D]
 * @throws ArgumentError if a row is out of range, or if weights are passed with a mode other than 'sum'
 */
export function embeddingBag(
  ...given: Call<
    [input: Tensor, weight: Tensor, offsets?: Tensor | undefined, options?: EmbeddingBagOptions | undefined],
    'F.embeddingBag'
  >
): Tensor {
  const [input, weight, offsets, options] = arranged('F.embeddingBag', given);
  const { mode = 'mean', includeLastOffset = false, paddingIdx, perSampleWeights, sparse = false } = options;
  requireMode('embeddingBag', mode, sparse);
  requireBags(input, weight, offsets);
  if (perSampleWeights !== undefined) requireWeights(perSampleWeights, input, mode);
  const [count] = weight.shape;
  const rows = checkIndices('embeddingBag', 'rows', input.value, { least: 0, count });
  const bags = offsets && includeLastOffset ? offsets.shape[0] - 1 : undefined;
  if (bags !== undefined && bags < 0) {
    throw new ShapeError('embeddingBag: expected at least one offset with includeLastOffset, got none.');
  }
  return new Tensor(
    bagsOf({
      table: weight.value,
      rows,
      offsets: offsets && (bags === undefined ? offsets.value : slice(offsets.value, 0, 0, bags)),
      weights: perSampleWeights?.value,
      mode,
      paddingRow: paddingRow('embeddingBag', paddingIdx, count),
      sparse,
    }),
  );
}

/** @throws ArgumentError if the mode is unknown, or has no sparse gradient */
export function requireMode(name: string, mode: string, sparse: boolean): void {
  requireOneOf(name, 'mode', mode, ['sum', 'mean', 'max']);
  requireBoolean(`${name}: sparse`, sparse);
  if (sparse && mode === 'max') {
    throw new ArgumentError(
      `${name}: expected the mode 'sum' or 'mean' with sparse: true, got 'max', which has dense gradients only. Leave sparse out.`,
    );
  }
}

function requireBags(input: Tensor, weight: Tensor, offsets: Tensor | undefined): void {
  const hasOffsets = offsets !== undefined;
  const fits =
    input.dtype === 'int64' &&
    input.shape.length === (hasOffsets ? 1 : 2) &&
    isFloat(weight) &&
    weight.shape.length === 2 &&
    (!hasOffsets || (offsets.dtype === 'int64' && offsets.shape.length === 1));
  if (fits) return;
  const given = [input, weight, ...(hasOffsets ? [offsets] : [])].map(describeType).join(', ');
  throw new ShapeError(
    `embeddingBag: expected rows int64[B,L] and a table float32[V,D], or rows int64[T], a table and offsets int64[B], got ${given}.`,
  );
}

function requireWeights(weights: Tensor, input: Tensor, mode: string): void {
  if (mode !== 'sum') {
    throw new ArgumentError(`embeddingBag: perSampleWeights need the mode 'sum', got '${mode}'.`);
  }
  if (!isFloat(weights) || weights.shape.join() !== input.shape.join()) {
    throw new ShapeError(
      `embeddingBag: expected perSampleWeights float32[${input.shape.join()}], as the rows, got ${describeType(weights)}.`,
    );
  }
}
