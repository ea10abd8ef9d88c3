import type { Value } from '../../../graph/node.ts';
import type { Lowering } from '../lowering.ts';
import { int64, typedKernels } from './launches.ts';

/** Threads of a block. */
export const threads = 256;

/** Channels that one thread reads at once: 16 bytes of float32, 8 of bfloat16. */
export const width = 4;

/** Threads of a block for the channels of one row, at most. The others read other rows. */
const mostColumns = 16;

/** Channels of a block that combines parts. */
export const channelsOfBlock = 32;

/**
 * Mean and variance of the channels of rows `T` [rows, channels] in one pass over memory. Each thread computes those of some rows
 * (Welford, 1962); they are combined in an order that depends only on shapes (Chan, Golub and LeVeque, 1979).
 */
const body = `
// The mean of some numbers, and the sum of their squared distances from it.
struct Moments {
  float mean, squares;
};

// The moments of a and b together, of which there are \`ofA\` and \`ofB\` numbers.
__device__ __forceinline__ Moments together(Moments a, float ofA, Moments b, float ofB) {
  if (ofB == 0.0f) return a;
  if (ofA == 0.0f) return b;
  const float share = ofB / (ofA + ofB), distance = b.mean - a.mean;
  return {a.mean + distance * share, a.squares + b.squares + distance * distance * ofA * share};
}

// Rows of part \`part\` of \`parts\`, for lane \`lane\` of \`lanes\`.
__device__ __forceinline__ int64 beginOf(int64 rows, int64 part, int64 parts) { return rows * part / parts; }
__device__ __forceinline__ float countOf(int64 rows, int64 part, int64 parts) {
  return static_cast<float>(beginOf(rows, part + 1, parts) - beginOf(rows, part, parts));
}

template <int kWidth>
struct alignas(kWidth * sizeof(T)) Neighbours {
  T of[kWidth];
};

// [parts, channels]: a part for each block along y. \`columns\` threads, a power of 2, read a row.
template <int kWidth>
__device__ __forceinline__ void momentsOfParts(const T* x, Moments* parts, int64 rows, int64 channels, int64 columns) {
  __shared__ Moments found[${threads}][kWidth];
  __shared__ float counts[${threads}];
  const int lanes = ${threads} / static_cast<int>(columns);
  const int lane = static_cast<int>(threadIdx.x) / static_cast<int>(columns);
  const int64 first = (blockIdx.x * columns + threadIdx.x % columns) * kWidth;
  const int64 begin = beginOf(rows, blockIdx.y, gridDim.y), end = beginOf(rows, blockIdx.y + 1, gridDim.y);
  Moments own[kWidth] = {};
  float count = 0.0f;
  if (first < channels) {
    const T* const from = x + first;
#pragma unroll 4
    for (int64 row = begin + lane; row < end; row += lanes) {
      const Neighbours<kWidth> loaded = *reinterpret_cast<const Neighbours<kWidth>*>(from + row * channels);
      count += 1.0f;
      const float share = 1.0f / count;
#pragma unroll
      for (int k = 0; k < kWidth; ++k) {
        const float value = loaded.of[k], distance = value - own[k].mean;
        own[k].mean += distance * share;
        own[k].squares += distance * (value - own[k].mean);
      }
    }
  }
#pragma unroll
  for (int k = 0; k < kWidth; ++k) found[threadIdx.x][k] = own[k];
  counts[threadIdx.x] = count;
  for (int half = lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane >= half) continue;
    const int other = threadIdx.x + half * static_cast<int>(columns);
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      found[threadIdx.x][k] = together(found[threadIdx.x][k], counts[threadIdx.x], found[other][k], counts[other]);
    }
    counts[threadIdx.x] += counts[other];
  }
  if (lane != 0 || first >= channels) return;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) parts[blockIdx.y * channels + first + k] = found[threadIdx.x][k];
}

extern "C" __global__ void __launch_bounds__(${threads}) momentsOfPartsByOne(const T* x, Moments* parts, int64 rows, int64 channels, int64 columns) {
  momentsOfParts<1>(x, parts, rows, channels, columns);
}

extern "C" __global__ void __launch_bounds__(${threads}) momentsOfPartsByFour(const T* x, Moments* parts, int64 rows, int64 channels, int64 columns) {
  momentsOfParts<${width}>(x, parts, rows, channels, columns);
}

extern "C" __global__ void __launch_bounds__(${threads}) combineMoments(const Moments* parts, float* means, float* variances, int64 rows,
                                                                 int64 channels, int64 partCount) {
  constexpr int kLanes = ${threads / channelsOfBlock};
  __shared__ Moments found[${threads}];
  __shared__ float counts[${threads}];
  const int lane = static_cast<int>(threadIdx.x) / ${channelsOfBlock};
  const int64 channel = static_cast<int64>(blockIdx.x) * ${channelsOfBlock} + threadIdx.x % ${channelsOfBlock};
  Moments own = {};
  float count = 0.0f;
  if (channel < channels) {
#pragma unroll 4
    for (int64 part = lane; part < partCount; part += kLanes) {
      const float more = countOf(rows, part, partCount);
      own = together(own, count, parts[part * channels + channel], more);
      count += more;
    }
  }
  found[threadIdx.x] = own;
  counts[threadIdx.x] = count;
  for (int half = kLanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane >= half) continue;
    const int other = threadIdx.x + half * ${channelsOfBlock};
    found[threadIdx.x] = together(found[threadIdx.x], counts[threadIdx.x], found[other], counts[other]);
    counts[threadIdx.x] += counts[other];
  }
  if (lane != 0 || channel >= channels) return;
  means[channel] = found[threadIdx.x].mean;
  variances[channel] = found[threadIdx.x].squares / static_cast<float>(rows);
}
`;

const names = ['momentsOfPartsByOne', 'momentsOfPartsByFour', 'combineMoments'] as const;

const kernels = typedKernels('channel-statistics', ['T'], body, names);

export const channelStatisticsKernels = kernels.all([{ T: 'float32' }, { T: 'bfloat16' }]);

/** Blocks that fill the largest GPU twice. */
const manyBlocks = 264;

/** Rows that a thread reads at least, if there are several parts. */
const rowsOfThread = 8;

/** Adds the commands that compute mean and variance of each channel of [rows, channels]. */
export function addChannelStatistics(lowering: Lowering, x: Value, mean: Value, variance: Value): void {
  const [rows, channels] = x.shape;
  const { momentsOfPartsByOne, momentsOfPartsByFour, combineMoments } = kernels.of({ T: x.dtype });
  const { isWide, columns, groups, parts } = divisionOf(rows, channels);
  const moments = lowering.scratch(8 * channels * parts);
  const kernel = isWide ? momentsOfPartsByFour : momentsOfPartsByOne;
  const sizes = [int64(rows), int64(channels)];
  const args = [lowering.at(x), moments, ...sizes, int64(columns)];
  lowering.launch(kernel, [groups, parts, 1], [threads, 1, 1], args);
  const results = [lowering.at(mean), lowering.at(variance), ...sizes, int64(parts)];
  const blocks = Math.ceil(channels / channelsOfBlock);
  lowering.launch(combineMoments, [blocks, 1, 1], [threads, 1, 1], [moments, ...results]);
}

/** How the rows and channels of an array are divided among threads. */
export function divisionOf(rows: number, channels: number) {
  const isWide = channels % width === 0;
  const vectors = isWide ? channels / width : channels;
  const columns = Math.min(mostColumns, 2 ** Math.ceil(Math.log2(vectors)));
  const groups = Math.ceil(vectors / columns);
  const rowsOfBlock = (rowsOfThread * threads) / columns;
  const parts = Math.max(1, Math.min(Math.ceil(manyBlocks / groups), Math.ceil(rows / rowsOfBlock)));
  return { isWide, columns, groups, parts };
}
