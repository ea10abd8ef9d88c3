import type { LoweringFamily } from '../lowering.ts';
import { unwidened } from '../views.ts';
import { channelsOfBlock, divisionOf, threads, width } from './channel-statistics.ts';
import { int64, typedKernels } from './launches.ts';

/** Sums over rows [rows, channels] of d, of `D`, and of x, of `T`, divided among threads as in channel-statistics.ts. */
const body = `
struct Sums {
  float ofGradients, ofProducts;
};

__device__ __forceinline__ Sums together(Sums a, Sums b) { return {a.ofGradients + b.ofGradients, a.ofProducts + b.ofProducts}; }

template <typename Element, int kWidth>
struct alignas(kWidth * sizeof(Element)) Neighbours {
  Element of[kWidth];
};

// [parts, channels]: a part for each block along y. \`columns\` threads, a power of 2, read a row.
template <int kWidth>
__device__ __forceinline__ void sumsOfParts(const D* d, const T* x, const float* means, Sums* parts, int64 rows, int64 channels, int64 columns) {
  __shared__ Sums found[${threads}][kWidth];
  const int lanes = ${threads} / static_cast<int>(columns);
  const int lane = static_cast<int>(threadIdx.x) / static_cast<int>(columns);
  const int64 first = (blockIdx.x * columns + threadIdx.x % columns) * kWidth;
  const int64 begin = rows * blockIdx.y / gridDim.y, end = rows * (blockIdx.y + 1) / gridDim.y;
  Sums own[kWidth] = {};
  if (first < channels) {
    float mean[kWidth];
#pragma unroll
    for (int k = 0; k < kWidth; ++k) mean[k] = means[first + k];
#pragma unroll 4
    for (int64 row = begin + lane; row < end; row += lanes) {
      const int64 at = row * channels + first;
      const Neighbours<D, kWidth> gradients = *reinterpret_cast<const Neighbours<D, kWidth>*>(d + at);
      const Neighbours<T, kWidth> values = *reinterpret_cast<const Neighbours<T, kWidth>*>(x + at);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) {
        const float gradient = gradients.of[k], value = values.of[k];
        own[k].ofGradients += gradient;
        own[k].ofProducts += gradient * (value - mean[k]);
      }
    }
  }
#pragma unroll
  for (int k = 0; k < kWidth; ++k) found[threadIdx.x][k] = own[k];
  for (int half = lanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane >= half) continue;
#pragma unroll
    for (int k = 0; k < kWidth; ++k) {
      found[threadIdx.x][k] = together(found[threadIdx.x][k], found[threadIdx.x + half * static_cast<int>(columns)][k]);
    }
  }
  if (lane != 0 || first >= channels) return;
#pragma unroll
  for (int k = 0; k < kWidth; ++k) parts[blockIdx.y * channels + first + k] = found[threadIdx.x][k];
}

extern "C" __global__ void __launch_bounds__(${threads}) sumsOfPartsByOne(const D* d, const T* x, const float* means, Sums* parts, int64 rows,
                                                                   int64 channels, int64 columns) {
  sumsOfParts<1>(d, x, means, parts, rows, channels, columns);
}

extern "C" __global__ void __launch_bounds__(${threads}) sumsOfPartsByFour(const D* d, const T* x, const float* means, Sums* parts, int64 rows,
                                                                    int64 channels, int64 columns) {
  sumsOfParts<${width}>(d, x, means, parts, rows, channels, columns);
}

extern "C" __global__ void __launch_bounds__(${threads}) combineSums(const Sums* parts, float* gradients, float* products, int64 channels,
                                                              int64 partCount) {
  constexpr int kLanes = ${threads / channelsOfBlock};
  __shared__ Sums found[${threads}];
  const int lane = static_cast<int>(threadIdx.x) / ${channelsOfBlock};
  const int64 channel = static_cast<int64>(blockIdx.x) * ${channelsOfBlock} + threadIdx.x % ${channelsOfBlock};
  Sums own = {};
  if (channel < channels) {
#pragma unroll 4
    for (int64 part = lane; part < partCount; part += kLanes) own = together(own, parts[part * channels + channel]);
  }
  found[threadIdx.x] = own;
  for (int half = kLanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (lane < half) found[threadIdx.x] = together(found[threadIdx.x], found[threadIdx.x + half * ${channelsOfBlock}]);
  }
  if (lane != 0 || channel >= channels) return;
  gradients[channel] = found[threadIdx.x].ofGradients;
  products[channel] = found[threadIdx.x].ofProducts;
}
`;

const names = ['sumsOfPartsByOne', 'sumsOfPartsByFour', 'combineSums'] as const;

const kernels = typedKernels('batch-sums', ['D', 'T'], body, names);

const dtypes = ['float32', 'bfloat16'] as const;

export const batchSumKernels = kernels.all(dtypes.flatMap((D) => dtypes.map((T) => ({ D, T }))));

export const batchSums: LoweringFamily<'BatchNormalizeSums'> = {
  BatchNormalizeSums: ({ inputs, outputs: [gradients, products] }, lowering) => {
    const [d, x, mean] = inputs.map(unwidened);
    const [rows, channels] = inputs[1].shape;
    const { sumsOfPartsByOne, sumsOfPartsByFour, combineSums } = kernels.of({ D: d.dtype, T: x.dtype });
    const { isWide, columns, groups, parts } = divisionOf(rows, channels);
    const sums = lowering.scratch(8 * channels * parts);
    const arrays = [lowering.at(d), lowering.at(x), lowering.at(mean), sums];
    const args = [...arrays, int64(rows), int64(channels), int64(columns)];
    const kernel = isWide ? sumsOfPartsByFour : sumsOfPartsByOne;
    lowering.launch(kernel, [groups, parts, 1], [threads, 1, 1], args);
    const results = [sums, lowering.at(gradients), lowering.at(products), int64(channels), int64(parts)];
    lowering.launch(combineSums, [Math.ceil(channels / channelsOfBlock), 1, 1], [threads, 1, 1], results);
  },
};
