import type { GpuAddress, GpuArgument } from '@ringrun/native';
import type { BagMode, EmbeddingBagAttributes } from '../../../graph/attributes.ts';
import type { Value } from '../../../graph/node.ts';
import { sizeOf } from '../../../value-type.ts';
import type { Kernel, Lowering, LoweringFamily } from '../lowering.ts';
import { addressOf, int32, int64, kernelsIn, launchElements, nullPointer } from './launches.ts';
import { sourceOf } from './prelude.ts';
import { refusedElement } from './refusals.ts';
import { addToRows } from './table-rows.ts';

/** Bags of rows: rows [T] with offsets [B], or [B, L]. `mode`: 0 sum, 1 mean, 2 maximum. */
const source = sourceOf(`
struct Bag {
  int64 begin, end;
};

// The places of the rows of a bag; empty if its offsets do not increase.
__device__ __forceinline__ Bag bagAt(const int64* offsets, int64 bag, int64 bags, int64 total) {
  if (offsets == nullptr) return {total / bags * bag, total / bags * (bag + 1)};
  const Bag own{offsets[bag], bag + 1 < bags ? offsets[bag + 1] : total};
  return own.begin < 0 || own.begin > own.end || own.end > total ? Bag{0, 0} : own;
}

// Negative rows count from the end; -1 for the padding row and for one that does not exist.
__device__ __forceinline__ int64 rowOf(int64 row, int64 count, int64 padding) {
  const int64 from = row < 0 ? row + count : row;
  return from < 0 || from >= count || from == padding ? -1 : from;
}

// A block has a bag.
extern "C" __global__ void __launch_bounds__(256) reduceBags(const float* table, const int64* rows, const int64* offsets, const float* weights,
                                                             float* result, int64* winners, unsigned long long* refusedRow,
                                                             unsigned long long* refusedOffset, int64 rowCount, int64 width, int64 padding, int64 bags,
                                                             int64 total, int mode) {
  const int64 index = blockIdx.x;
  const Bag bag = bagAt(offsets, index, bags, total);
  if (threadIdx.x == 0 && offsets != nullptr) {
    const int64 end = index + 1 < bags ? offsets[index + 1] : total;
    if (offsets[index] < 0 || offsets[index] > end || end > total || (index == 0 && offsets[0] != 0)) refuse(refusedOffset, index, offsets[index]);
  }
  for (int64 column = threadIdx.x; column < width; column += blockDim.x) {
    float sum = 0.0f;
    int64 winner = -1;
    int size = 0;
    for (int64 place = bag.begin; place < bag.end; ++place) {
      const int64 row = rowOf(rows[place], rowCount, padding);
      if (row < 0) {
        if (column == 0 && (rows[place] < -rowCount || rows[place] >= rowCount)) refuse(refusedRow, place, rows[place]);
        continue;
      }
      ++size;
      const float x = table[row * width + column];
      if (mode != 2) {
        sum += weights == nullptr ? x : weights[place] * x;
      } else if (winner < 0 || x > sum) {
        sum = x;
        winner = row;
      }
    }
    result[index * width + column] = mode == 1 && size > 0 ? sum / static_cast<float>(size) : sum;
    if (mode == 2 && winners != nullptr) winners[index * width + column] = winner;
  }
}

// The bag of each place, and the factor of its gradient. A warp has a bag.
extern "C" __global__ void __launch_bounds__(128) ownersOfPlaces(const int64* rows, const int64* offsets, const float* weights, int* owners, float* scales,
                                                                 int64 rowCount, int64 padding, int64 bags, int64 total, int mode) {
  const int64 index = static_cast<int64>(blockIdx.x) * 4 + threadIdx.x / 32;
  if (index >= bags) return;
  const Bag bag = bagAt(offsets, index, bags, total);
  int size = 0;
  for (int64 place = bag.begin + threadIdx.x % 32; place < bag.end; place += 32) size += rowOf(rows[place], rowCount, padding) >= 0;
  size = combined<32, Sum>(size);
  for (int64 place = bag.begin + threadIdx.x % 32; place < bag.end; place += 32) {
    owners[place] = static_cast<int>(index);
    scales[place] = weights != nullptr ? weights[place] : mode == 1 ? 1.0f / static_cast<float>(size) : 1.0f;
  }
}

// The gradients of maxima, in the order of the bags.
extern "C" __global__ void __launch_bounds__(256) addToWinners(const float* gradient, const int64* winners, float* table, int64 width, int64 bags,
                                                               int64 count) {
  for (int64 element = firstElement(); element < count; element += gridStride()) {
    const int64 row = element / width, column = element % width;
    float sum = 0.0f;
    for (int64 bag = 0; bag < bags; ++bag) {
      if (winners[bag * width + column] == row) sum += gradient[bag * width + column];
    }
    table[element] = sum;
  }
}

// The gradient of each weight: the product of its row and of the gradient of its bag. A warp has a place.
extern "C" __global__ void __launch_bounds__(128) weightGradients(const float* gradient, const int64* rows, const float* table, const int* owners,
                                                                  float* weights, int64 rowCount, int64 width, int64 padding, int64 total) {
  const int64 place = static_cast<int64>(blockIdx.x) * 4 + threadIdx.x / 32;
  if (place >= total) return;
  const int64 row = rowOf(rows[place], rowCount, padding);
  float sum = 0.0f;
  if (row >= 0) {
    const float* const own = gradient + owners[place] * width;
    for (int64 i = threadIdx.x % 32; i < width; i += 32) sum += own[i] * table[row * width + i];
  }
  sum = combined<32, Sum>(sum);
  if (threadIdx.x % 32 == 0) weights[place] = sum;
}
`);

const kernels = kernelsIn('embedding-bag.cu', source, [
  ...(['reduceBags', 'ownersOfPlaces', 'addToWinners', 'weightGradients'] as const),
]);

export const embeddingBagKernels: readonly Kernel[] = Object.values(kernels);

const modes: Readonly<Record<BagMode, number>> = { sum: 0, mean: 1, max: 2 };

export const embeddingBags: LoweringFamily<'EmbeddingBag' | 'EmbeddingBagGradient'> = {
  EmbeddingBag: ({ inputs: [table, rows, ...options], outputs: [result, winners], attributes }, lowering) => {
    const [rowCount, width] = table.shape;
    const [bags] = result.shape;
    if (bags * width === 0) return;
    const total = sizeOf(rows.shape);
    const refusedRow = lowering.refusal((found) => {
      const { got } = refusedElement(found);
      return `embeddingBag: expected rows from ${-rowCount} to ${rowCount - 1}, got ${got}`;
    });
    const refusedOffset = lowering.refusal((found) => {
      const { place, got } = refusedElement(found);
      return `embeddingBag: expected increasing offsets from 0 to ${total}, got ${got} at index ${place}`;
    });
    const [offsets, weights] = optionsOf(lowering, options, attributes);
    const arrays = [lowering.at(table), lowering.at(rows), offsets, weights, lowering.at(result)];
    const more = [attributes.mode === 'max' ? lowering.at(winners) : nullPointer, refusedRow, refusedOffset];
    const padding = int64(attributes.paddingRow ?? -1);
    const sizes = [int64(rowCount), int64(width), padding, int64(bags), int64(total)];
    const threads = Math.min(256, 32 * Math.ceil(width / 32));
    const args = [...arrays, ...more, ...sizes, int32(modes[attributes.mode])];
    lowering.launch(kernels.reduceBags, [bags, 1, 1], [threads, 1, 1], args);
  },
  EmbeddingBagGradient: ({ inputs, outputs: [dTable, dWeights], attributes }, lowering) => {
    const [gradient, rows, table, ...options] = inputs;
    const { mode, paddingRow, hasWeights } = attributes;
    const [rowCount, width] = table.shape;
    const [bags] = gradient.shape;
    const d = lowering.at(gradient);
    if (mode === 'max') {
      const args = [d, lowering.at(options.at(-1)!), lowering.at(dTable), int64(width), int64(bags)];
      launchElements(lowering, kernels.addToWinners, rowCount * width, args);
      return;
    }
    const count = sizeOf(rows.shape);
    const [owners, scales] = [0, 1].map((): GpuAddress => lowering.scratch(4 * Math.max(1, count)));
    const [offsets, weights] = optionsOf(lowering, options, attributes);
    const at = lowering.at(rows);
    const padding = int64(paddingRow ?? -1);
    if (count > 0 && bags > 0) {
      const sizes = [int64(rowCount), padding, int64(bags), int64(count), int32(modes[mode])];
      const args = [at, offsets, weights, owners, scales, ...sizes];
      lowering.launch(kernels.ownersOfPlaces, [Math.ceil(bags / 4), 1, 1], [128, 1, 1], args);
    }
    if (lowering.isRead(dTable)) {
      const updates = {
        rows: at,
        dtype: dTable.dtype,
        count,
        updates: d,
        owners,
        scales,
        table: lowering.at(dTable),
      };
      addToRows(lowering, { ...updates, tableRows: rowCount, width, paddingRow, name: 'embeddingBag' });
    }
    if (!hasWeights || count === 0 || !lowering.isRead(dWeights)) return;
    const sizes = [int64(rowCount), int64(width), padding, int64(count)];
    const args = [d, at, lowering.at(table), owners, lowering.at(dWeights), ...sizes];
    lowering.launch(kernels.weightGradients, [Math.ceil(count / 4), 1, 1], [128, 1, 1], args);
  },
};

/** The offsets and the weights. */
function optionsOf(
  lowering: Lowering,
  options: readonly Value[],
  { hasOffsets, hasWeights }: EmbeddingBagAttributes,
): readonly [offsets: GpuArgument, weights: GpuArgument] {
  return [
    addressOf(lowering, hasOffsets ? options[0] : undefined),
    addressOf(lowering, hasWeights ? options[Number(hasOffsets)] : undefined),
  ];
}
