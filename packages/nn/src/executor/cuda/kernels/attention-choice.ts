import type { GpuDType } from '@ringrun/native';
import type { AttentionPlaces } from '../../../graph/attributes.ts';
import { sizeOf } from '../../../value-type.ts';
import { bytesOf } from '../element-types.ts';
import { attentionBatchAxes } from './attention-scores-source.ts';
import { attentionTile } from './attention-source.ts';

/** Why there are no kernels for some places, as the end of a sentence; undefined if there are. */
export function attentionLimit({ batch, sizes }: AttentionPlaces): string | undefined {
  const size = Math.max(...sizes);
  if (attentionTile(size) === undefined) return `attention has heads of ${size} elements, more than 512`;
  if (batch.length <= attentionBatchAxes) return undefined;
  return `attention has ${batch.length} dimensions before the rows, more than ${attentionBatchAxes}`;
}

/** Bytes of scores, weights and their gradients that exist at a time: products compute as many heads at once as fit. */
export const scoreBytes = 256 * 2 ** 20;

/** Below them, nine launches are expected to take longer than the four of tiles: estimated from kernels measured on an H100. */
const fewestRows = 128;
const fewestScores = 2 ** 20;

/** cuBLASLt's fast kernels read rows in vectors of this size. */
const vectorBytes = 16;

/** The threads that compute a row of scores, and how many groups of 4 scores each of them keeps in registers. */
export interface RowForm {
  readonly threads: 32 | 128 | 512;
  readonly groups: 1 | 2 | 4;
}

/** From short rows to long ones: up to 8192 keys. With 8 groups, dropout would need local memory. */
export const rowForms: readonly RowForm[] = [
  ...([1, 2, 4] as const).map((groups): RowForm => ({ threads: 32, groups })),
  ...([2, 4] as const).map((groups): RowForm => ({ threads: 128, groups })),
  ...([2, 4] as const).map((groups): RowForm => ({ threads: 512, groups })),
];

/** The kernels for rows of so many keys. Undefined: no row of that length fits into registers. */
export function rowFormOf(keys: number): RowForm | undefined {
  return rowForms.find(({ threads, groups }) => 4 * threads * groups >= keys);
}

/** Elements from one row of scores to the next: rows begin at multiples of 16 bytes, in bfloat16 too. */
export function rowStrideOf(keys: number): number {
  return 8 * Math.ceil(keys / 8);
}

/** Heads whose scores exist at a time. */
export interface Round {
  /** Number of the first. */
  readonly first: number;
  readonly heads: number;
}

/**
 * As few rounds as arrays of at most `limit` bytes allow, of nearly equal numbers of heads. A round has at least one head.
 *
 * @param bytes of a score in all arrays
 */
export function roundsOf(
  { batch, lengths: [queries, keys] }: AttentionPlaces,
  bytes: number,
  limit = scoreBytes,
): readonly Round[] {
  const heads = sizeOf(batch);
  const most = Math.max(1, Math.floor(limit / (bytes * queries * rowStrideOf(keys))));
  const count = Math.ceil(heads / most);
  const firsts = Array.from({ length: count + 1 }, (_, round) => Math.floor((heads * round) / count));
  return firsts.slice(0, -1).map((first, round) => ({ first, heads: firsts[round + 1] - first }));
}

/** Bytes of a score in memory: the result of the product in float32, and the weight of a bfloat16 operand beside it. */
export function bytesPerScore(dtype: GpuDType, pass: 'forward' | 'gradient'): number {
  const one = dtype === 'bfloat16' ? 4 + 2 : 4;
  return pass === 'forward' ? one : 2 * one;
}

/**
 * True if attention and its gradient are computed as products of cuBLASLt, with scores in memory: for many long rows, where
 * tensor cores, or its faster products of float32, are worth more launches. False: by tiles (attention-source.ts), which take
 * few launches and no memory. Both passes decide alike, because their statistics are the same.
 */
export function takesProducts(places: AttentionPlaces, dtype: GpuDType): boolean {
  const { batch, lengths, sizes } = places;
  const [queries, keys] = lengths;
  const scores = sizeOf(batch) * queries * keys;
  const ofHead = queries * rowStrideOf(keys) * bytesPerScore(dtype, 'gradient');
  return (
    Math.min(queries, keys) >= fewestRows &&
    scores >= fewestScores &&
    sizes.every((size) => (size * bytesOf(dtype)) % vectorBytes === 0) &&
    rowFormOf(keys) !== undefined &&
    ofHead <= scoreBytes
  );
}
