import { NnError } from '../errors/errors.ts';
import type { GradientReceiver } from '../graph/source.ts';
import { addRowsTo } from '../sparse/merge-rows.ts';
import { mergedRows, PackedRows } from '../sparse/packed-rows.ts';

/** The gradient of earlier passes: all elements, or rows. */
export type EarlierGradient = Float32Array | PackedRows;

/**
 * Makes room for the gradient of a pass, and returns the earlier one; undefined if there is none.
 *
 * @param reads number of rows of a sparse gradient; undefined if the gradient is dense
 */
export function beginGradient(
  parameter: GradientReceiver,
  reads: number | undefined,
): EarlierGradient | undefined {
  const rows = parameter.sparseGradient;
  const earlier = parameter.hasGradient ? (rows ?? parameter.grad!.slice()) : undefined;
  if (reads === undefined) parameter.setSparseGradient(undefined);
  else if (earlier === rows || rows?.capacity !== reads) {
    parameter.setSparseGradient(new PackedRows(tableShape(parameter), reads));
  }
  return earlier;
}

/** Adds the gradient of earlier passes to the one that a pass has written. */
export function addEarlier(parameter: GradientReceiver, earlier: EarlierGradient): void {
  const rows = parameter.sparseGradient;
  if (rows !== undefined && earlier instanceof PackedRows) {
    parameter.setSparseGradient(mergedRows(rows.shape, [earlier, rows]));
    return;
  }
  if (earlier instanceof PackedRows) {
    addRowsTo(parameter.gradientMemory.array, earlier, earlier.shape[1]);
    return;
  }
  parameter.setSparseGradient(undefined);
  const { array } = parameter.gradientMemory;
  if (rows === undefined) for (let i = 0; i < array.length; i += 1) array[i] += earlier[i];
  else {
    array.set(earlier);
    addRowsTo(array, rows, rows.shape[1]);
  }
}

/** Undoes `beginGradient` after a pass that has failed. */
export function restoreEarlier(parameter: GradientReceiver, earlier: EarlierGradient): void {
  const isSparse = earlier instanceof PackedRows;
  parameter.setSparseGradient(isSparse ? earlier : undefined);
  if (!isSparse) parameter.gradientMemory.array.set(earlier);
}

/**
 * @throws NnError (ERR_BACKWARD) if DistributedDataParallel exchanges the gradients of a parameter row by row, but this one is
 *   dense, or the other way round
 */
export function requireExpectedKind(parameter: GradientReceiver, reads: number | undefined): void {
  if (parameter.gradientSink === undefined) return;
  const isExpectedSparse = parameter.hasSparseGradient === true;
  if (isExpectedSparse === (reads !== undefined)) return;
  throw new NnError(
    'ERR_BACKWARD',
    isExpectedSparse
      ? `backward: expected a sparse gradient of ${parameter.describe()} with DistributedDataParallel, because its embedding has sparse: true, got a dense one: the loss also reads it without a lookup. Leave sparse: true out.`
      : `backward: expected a dense gradient of ${parameter.describe()} with DistributedDataParallel, got a sparse one. Look it up with nn.Embedding or nn.EmbeddingBag with sparse: true, or leave sparse: true out.`,
  );
}

function tableShape({ shape }: GradientReceiver): readonly [count: number, width: number] {
  const [count, width] = shape;
  return [count, width];
}
