import type { GpuAddress } from '@ringrun/native';
import type { DType } from '../../../dtype.ts';
import { sizeOf } from '../../../value-type.ts';
import { after, type Lowering, type LoweringFamily } from '../lowering.ts';
import { int64, launchElements, typedKernels } from './launches.ts';
import { refusedElement } from './refusals.ts';

/**
 * Rows of tables of `T`. Sums of updates by row have the order of the updates: the rank of an update is the number of earlier ones of the
 * same row, so each finds its place without a sort. Comparing all pairs of 8,192 updates takes a GPU few microseconds.
 */
const body = `
// Negative rows count from the end; -1 for one that does not exist.
__device__ __forceinline__ int64 tableRow(int64 row, int64 count) { return row < -count || row >= count ? -1 : row < 0 ? row + count : row; }

extern "C" __global__ void __launch_bounds__(256) gatherRows(const T* table, const int64* rows, T* result, unsigned long long* refused,
                                                             int64 rowCount, int64 width, int64 count) {
  for (int64 i = firstElement(); i < count; i += gridStride()) {
    const int64 at = i / width;
    const int64 row = tableRow(rows[at], rowCount);
    if (row < 0) {
      if (i % width == 0) refuse(refused, at, rows[at]);
    } else {
      result[i] = table[row * width + i % width];
    }
  }
}

// The rank of each update, and the number of updates of each row of the table.
extern "C" __global__ void __launch_bounds__(256) rankUpdates(const int64* rows, int* ranks, int* counts, unsigned long long* refused, int64 rowCount,
                                                              int64 padding, int64 count) {
  __shared__ int64 tile[256];
  const int64 i = firstElement();
  const int64 row = i < count ? tableRow(rows[i], rowCount) : -1;
  int rank = 0;
  for (int64 begin = 0; begin <= static_cast<int64>(blockIdx.x) * 256; begin += 256) {
    const int64 other = begin + threadIdx.x;
    tile[threadIdx.x] = other < count ? tableRow(rows[other], rowCount) : -1;
    __syncthreads();
    const int most = static_cast<int>(min(i - begin, static_cast<int64>(256)));
    for (int k = 0; k < most; ++k) rank += tile[k] == row;
    __syncthreads();
  }
  if (i >= count) return;
  if (row < 0) refuse(refused, i, rows[i]);
  ranks[i] = rank;
  if (row >= 0 && row != padding) atomicAdd(counts + row, 1);
}

// Gives each row of the table a place for its updates. The order of the rows among each other depends on timing, that within a row
// does not.
extern "C" __global__ void __launch_bounds__(256) placeRows(const int* counts, int* starts, int* used, int64 rowCount) {
  for (int64 row = firstElement(); row < rowCount; row += gridStride()) {
    if (counts[row] > 0) starts[row] = atomicAdd(used, counts[row]);
  }
}

extern "C" __global__ void __launch_bounds__(256) placeUpdates(const int64* rows, const int* ranks, const int* starts, int* updatesOfRows, int64 rowCount,
                                                               int64 padding, int64 count) {
  for (int64 i = firstElement(); i < count; i += gridStride()) {
    const int64 row = tableRow(rows[i], rowCount);
    if (row >= 0 && row != padding) updatesOfRows[starts[row] + ranks[i]] = static_cast<int>(i);
  }
}

// A block has a row of the table. Update u is scales[u]·updates[u / perUpdate]; scales may be null.
extern "C" __global__ void __launch_bounds__(256) sumRows(const T* updates, const float* scales, const int* owners, const int* counts,
                                                          const int* starts, const int* updatesOfRows, T* table, int64 width) {
  const int64 row = blockIdx.x;
  const int count = counts[row];
  const int* const own = updatesOfRows + (count > 0 ? starts[row] : 0);
  for (int64 column = threadIdx.x; column < width; column += blockDim.x) {
    float sum = 0.0f;
    for (int k = 0; k < count; ++k) {
      const int64 update = own[k];
      const float x = updates[(owners == nullptr ? update : owners[update]) * width + column];
      sum += scales == nullptr ? x : scales[update] * x;
    }
    table[row * width + column] = sum;
  }
}
`;

const kernels = typedKernels('table-rows', ['T'], body, [
  ...(['gatherRows', 'rankUpdates', 'placeRows', 'placeUpdates', 'sumRows'] as const),
]);

export const tableRowKernels = kernels.all([{ T: 'float32' }, { T: 'bfloat16' }]);

/** Updates that are added to rows of a table of zeros. */
export interface RowUpdates {
  /** int64, negative ones from the end. */
  readonly rows: GpuAddress;
  /** Of the updates and of the table. */
  readonly dtype: DType;
  /** Number of updates. */
  readonly count: number;
  /** Rows of updates: update u is that of `owners[u]`, times `scales[u]`. Default: u, and 1. */
  readonly updates: GpuAddress;
  readonly owners?: GpuAddress;
  readonly scales?: GpuAddress;
  readonly table: GpuAddress;
  readonly tableRows: number;
  readonly width: number;
  /** A row that stays 0. */
  readonly paddingRow?: number | undefined;
  /** Name of the function in the error of a row that does not exist. */
  readonly name: string;
}

/** Adds the commands that sum updates in their order. Launches nothing for an empty table. */
export function addToRows(lowering: Lowering, given: RowUpdates): void {
  const {
    rows,
    dtype,
    count,
    updates,
    owners,
    scales,
    table,
    tableRows,
    width,
    paddingRow = -1,
    name,
  } = given;
  if (tableRows * width === 0) return;
  const integers = (length: number) => lowering.scratch(4 * Math.max(1, length));
  const [counts, starts, ranks, updatesOfRows] = [tableRows + 1, tableRows, count, count].map(integers);
  const { rankUpdates, placeRows, placeUpdates, sumRows } = kernels.of({ T: dtype });
  const own = [int64(tableRows), int64(paddingRow)];
  lowering.add({ kind: 'fill', name: 'noUpdates', at: counts, bytes: 4 * (tableRows + 1) });
  if (count > 0) {
    const refused = refusalOfRows(lowering, name, tableRows);
    const args = [rows, ranks, counts, refused, ...own, int64(count)];
    lowering.launch(rankUpdates, [Math.ceil(count / 256), 1, 1], [256, 1, 1], args);
    launchElements(lowering, placeRows, tableRows, [counts, starts, after(counts, 4 * tableRows)]);
    launchElements(lowering, placeUpdates, count, [rows, ranks, starts, updatesOfRows, ...own]);
  }
  const threads = Math.min(256, 32 * Math.ceil(width / 32));
  const none = { uint64: 0 };
  const arrays = [updates, scales ?? none, owners ?? none, counts, starts, updatesOfRows, table];
  lowering.launch(sumRows, [tableRows, 1, 1], [threads, 1, 1], [...arrays, int64(width)]);
}

function refusalOfRows(lowering: Lowering, name: string, count: number): GpuAddress {
  return lowering.refusal((found) => {
    const { place, got } = refusedElement(found);
    return `${name}: expected rows from ${-count} to ${count - 1}, got ${got} at index ${place}`;
  });
}

export const tableRows: LoweringFamily<'Gather' | 'AddRows'> = {
  Gather: ({ inputs: [table, rows], outputs: [result] }, lowering) => {
    const [count, width] = table.shape;
    const arrays = [table, rows, result].map((value) => lowering.at(value));
    const args = [...arrays, refusalOfRows(lowering, 'gather', count), int64(count), int64(width)];
    launchElements(lowering, kernels.of({ T: table.dtype }).gatherRows, sizeOf(result.shape), args);
  },
  AddRows: ({ inputs: [rows, updates], outputs: [table], attributes: { count, paddingRow } }, lowering) => {
    addToRows(lowering, {
      ...{
        rows: lowering.at(rows),
        dtype: table.dtype,
        count: sizeOf(rows.shape),
        updates: lowering.at(updates),
      },
      ...{
        table: lowering.at(table),
        tableRows: count,
        width: table.shape[1],
        paddingRow,
        name: 'embedding',
      },
    });
  },
};
