import type { GpuAddress, GpuArgument } from '@ringrun/native';
import type { Value } from '../../../graph/node.ts';
import { sizeOf } from '../../../value-type.ts';
import type { Lowering, LoweringFamily } from '../lowering.ts';
import { addChannelStatistics } from './channel-statistics.ts';
import { float32, int32, int64, launchElements, nullPointer, typedKernels } from './launches.ts';

/** Axes that are left when neighbours that lie one behind the other in memory are one. Shapes of 12 axes have at most 6. */
const mostAxes = 6;

/**
 * Mean and variance over some axes of an array, in parts: those of each part are computed in two passes, and combined in order
 * (Chan, Golub and LeVeque, 1979). The array and the normalized one are `T`.
 */
const body = `
struct Axes {
  int64 count, size[${mostAxes}], stride[${mostAxes}];
};

// Where an element of these axes, counted row-major, is in the array. Unrolled, because arrays with computed indices would be in
// local memory.
__device__ __forceinline__ int64 offsetOf(const Axes& axes, int64 element) {
  if (axes.count == 1) return element * axes.stride[0];
  int64 offset = 0;
  unsigned rest = static_cast<unsigned>(element);
#pragma unroll
  for (int axis = ${mostAxes - 1}; axis >= 0; --axis) {
    if (axis >= axes.count) continue;
    const unsigned size = static_cast<unsigned>(axes.size[axis]);
    offset += static_cast<int64>(rest % size) * axes.stride[axis];
    rest /= size;
  }
  return offset;
}

// The inverse: the element of these axes that the array has at an index.
__device__ __forceinline__ int64 elementOf(const Axes& axes, int64 index) {
  int64 element = 0;
#pragma unroll
  for (int axis = 0; axis < ${mostAxes}; ++axis) {
    if (axis < axes.count) element = element * axes.size[axis] + index / axes.stride[axis] % axes.size[axis];
  }
  return element;
}

// Mean and sum of squared distances from it for each part of the elements of a statistic: [statistics, parts, 2].
extern "C" __global__ void __launch_bounds__(256) statisticsOfParts(const T* x, float* parts, Axes kept, Axes reduced, int64 count) {
  const T* const from = x + offsetOf(kept, blockIdx.x);
  const int64 begin = count * blockIdx.y / gridDim.y, end = count * (blockIdx.y + 1) / gridDim.y;
  float sum = 0.0f;
  for (int64 i = begin + threadIdx.x; i < end; i += 256) sum += from[offsetOf(reduced, i)];
  const float mean = combined<256, Sum>(sum) / static_cast<float>(end - begin);
  float squares = 0.0f;
  for (int64 i = begin + threadIdx.x; i < end; i += 256) {
    const float distance = from[offsetOf(reduced, i)] - mean;
    squares += distance * distance;
  }
  squares = combined<256, Sum>(squares);
  if (threadIdx.x != 0) return;
  float* const to = parts + 2 * (static_cast<int64>(blockIdx.x) * gridDim.y + blockIdx.y);
  to[0] = mean;
  to[1] = squares;
}

extern "C" __global__ void __launch_bounds__(256) combineParts(const float* parts, float* means, float* variances, int partCount, int64 elements,
                                                               int64 count) {
  for (int64 i = firstElement(); i < count; i += gridStride()) {
    const float* const from = parts + 2 * i * partCount;
    double mean = from[0], squares = from[1], seen = static_cast<double>(elements / partCount);
    for (int part = 1; part < partCount; ++part) {
      const double size = static_cast<double>(elements * (part + 1) / partCount - elements * part / partCount);
      const double distance = from[2 * part] - mean;
      mean += distance * size / (seen + size);
      squares += from[2 * part + 1] + distance * distance * (seen * size / (seen + size));
      seen += size;
    }
    means[i] = static_cast<float>(mean);
    variances[i] = static_cast<float>(squares / static_cast<double>(elements));
  }
}

// (x − mean) / √(variance + epsilon)·weight + bias, and x − mean, unless they are null.
extern "C" __global__ void __launch_bounds__(256) normalizeElements(const T* x, const float* means, const float* variances, const float* weights,
                                                                    const float* biases, T* normalized, float* centered, Axes kept, float epsilon,
                                                                    int64 count) {
  for (int64 i = firstElement(); i < count; i += gridStride()) {
    const int64 statistic = elementOf(kept, i);
    const float distance = x[i] - means[statistic];
    float result = distance / sqrtf(variances[statistic] + epsilon);
    if (weights != nullptr) result = result * weights[statistic] + biases[statistic];
    normalized[i] = result;
    if (centered != nullptr) centered[i] = distance;
  }
}

// x·scale + shift for each channel.
extern "C" __global__ void __launch_bounds__(256) affine(const T* x, const float* scale, const float* shift, T* y, int64 channels, int64 inner,
                                                         int64 count) {
  for (int64 i = firstElement(); i < count; i += gridStride()) {
    const int64 channel = i / inner % channels;
    y[i] = x[i] * scale[channel] + shift[channel];
  }
}
`;

const kernels = typedKernels('statistics', ['T'], body, [
  ...(['statisticsOfParts', 'combineParts'] as const),
  ...(['normalizeElements', 'affine'] as const),
]);

export const statisticsKernels = kernels.all([{ T: 'float32' }, { T: 'bfloat16' }]);

export const normalization: LoweringFamily<'Normalize' | 'BatchNormalize' | 'Affine'> = {
  Normalize: ({ inputs: [x], outputs: [y, mean, variance], attributes: { axes, epsilon } }, lowering) => {
    const kept = addStatistics(lowering, x, axes, mean, variance);
    const arrays = [lowering.at(x), lowering.at(mean), lowering.at(variance), nullPointer, nullPointer];
    const args = [...arrays, lowering.at(y), nullPointer, kept, float32(epsilon)];
    launchElements(lowering, kernels.of({ T: x.dtype }).normalizeElements, sizeOf(x.shape), args);
  },
  BatchNormalize: ({ inputs, outputs: [y, mean, variance, centered], attributes: { epsilon } }, lowering) => {
    const [x] = inputs;
    const axes = [...x.shape.keys()].filter((axis) => axis !== 1);
    const kept = addStatistics(lowering, x, axes, mean, variance);
    if (!lowering.isRead(y) && !lowering.isRead(centered)) return;
    const [at, weight, bias] = inputs.map((input) => lowering.at(input));
    const distances = lowering.isRead(centered) ? lowering.at(centered) : nullPointer;
    const arrays = [at, lowering.at(mean), lowering.at(variance), weight, bias, lowering.at(y), distances];
    launchElements(lowering, kernels.of({ T: x.dtype }).normalizeElements, sizeOf(x.shape), [
      ...arrays,
      kept,
      float32(epsilon),
    ]);
  },
  Affine: ({ inputs, outputs: [y] }, lowering) => {
    const { shape } = y;
    const arrays = [...inputs.map((input) => lowering.at(input)), lowering.at(y)];
    const args = [...arrays, int64(shape[1]), int64(sizeOf(shape.slice(2)))];
    launchElements(lowering, kernels.of({ T: y.dtype }).affine, sizeOf(shape), args);
  },
};

/** Adds the commands that compute mean and variance. Returns the axes that are kept, as a struct. */
function addStatistics(
  lowering: Lowering,
  x: Value,
  axes: readonly number[],
  mean: Value,
  variance: Value,
): GpuArgument {
  const [kept, reduced] = [false, true].map((isReduced) =>
    axesOf(
      x.shape,
      [...x.shape.keys()].filter((axis) => axes.includes(axis) === isReduced),
    ),
  );
  const count = sizeOf(mean.shape);
  const elements = sizeOf(axes.map((axis) => x.shape[axis]));
  if (count === 0) return kept;
  if (x.shape.length === 2 && axes[0] === 0) {
    addChannelStatistics(lowering, x, mean, variance);
    return kept;
  }
  const parts = Math.max(1, Math.min(Math.ceil(528 / count), Math.ceil(elements / 2048)));
  const ofParts: GpuAddress = lowering.scratch(8 * count * parts);
  const args = [lowering.at(x), ofParts, kept, reduced, int64(elements)];
  const { statisticsOfParts, combineParts } = kernels.of({ T: x.dtype });
  lowering.launch(statisticsOfParts, [count, parts, 1], [256, 1, 1], args);
  const results = [lowering.at(mean), lowering.at(variance), int32(parts), int64(elements)];
  launchElements(lowering, combineParts, count, [ofParts, ...results]);
  return kept;
}

/** The struct Axes of some axes of a shape. Neighbours are merged. */
function axesOf(shape: readonly number[], axes: readonly number[]): GpuArgument {
  const merged: { size: number; stride: number }[] = [];
  for (const axis of axes) {
    const size = shape[axis];
    const stride = sizeOf(shape.slice(axis + 1));
    if (size === 1) continue;
    const last = merged.at(-1);
    if (last?.stride === size * stride) merged[merged.length - 1] = { size: last.size * size, stride };
    else merged.push({ size, stride });
  }
  if (merged.length === 0) merged.push({ size: 1, stride: 1 });
  const column = (of: (axis: { size: number; stride: number }) => number) =>
    Array.from({ length: mostAxes }, (_, axis) => (axis < merged.length ? of(merged[axis]) : 1));
  const numbers = [merged.length, ...column(({ size }) => size), ...column(({ stride }) => stride)];
  return { bytes: new Uint8Array(BigInt64Array.from(numbers, BigInt).buffer) };
}
