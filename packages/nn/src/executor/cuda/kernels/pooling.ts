import type { GpuArgument } from '@ringrun/native';
import type { PoolAttributes } from '../../../graph/attributes.ts';
import type { Value } from '../../../graph/node.ts';
import { sizeOf } from '../../../value-type.ts';
import { bytesOf } from '../element-types.ts';
import type { LoweringFamily } from '../lowering.ts';
import { addElements } from './indexing.ts';
import { int32, int64, launchElements, typedKernels } from './launches.ts';

/** Images of one or two axes have leading axes of size 1. */
const axes = 3;

/** Images are `T`. */
const body = `
struct Windows {
  int size[${axes}], pooled[${axes}], kernel[${axes}], stride[${axes}], before[${axes}], dilation[${axes}];
};

// A window: its channel among all channels of all images, and where its first element is, which may be in the padding.
struct Place {
  int64 channel;
  int start[${axes}];
};

__device__ __forceinline__ Place placeOf(const Windows& w, int64 window) {
  Place place;
  for (int axis = ${axes - 1}; axis >= 0; --axis) {
    place.start[axis] = static_cast<int>(window % w.pooled[axis]) * w.stride[axis] - w.before[axis];
    window /= w.pooled[axis];
  }
  place.channel = window;
  return place;
}

// Calls body(position) for the elements of a window that are in the image, in order.
template <typename Body>
__device__ __forceinline__ void forEachElement(const Windows& w, const Place& place, const Body& body) {
  for (int i = 0; i < w.kernel[0]; ++i) {
    const int x = place.start[0] + i * w.dilation[0];
    if (x < 0 || x >= w.size[0]) continue;
    for (int j = 0; j < w.kernel[1]; ++j) {
      const int y = place.start[1] + j * w.dilation[1];
      if (y < 0 || y >= w.size[1]) continue;
      for (int k = 0; k < w.kernel[2]; ++k) {
        const int z = place.start[2] + k * w.dilation[2];
        if (z >= 0 && z < w.size[2]) body(((place.channel * w.size[0] + x) * w.size[1] + y) * w.size[2] + z);
      }
    }
  }
}

// The first of the largest elements; the last NaN wins. A window of −∞ has the position of its first element.
extern "C" __global__ void __launch_bounds__(256, 1) maxPool(const T* images, T* maxima, int64* positions, Windows w, int64 count) {
  for (int64 window = firstElement(); window < count; window += gridStride()) {
    float largest = -kInfinity;
    int64 position = -1;
    forEachElement(w, placeOf(w, window), [&](int64 at) {
      const float x = images[at];
      if (!(x > largest || x != x || position < 0)) return;
      largest = x;
      position = at;
    });
    maxima[window] = largest;
    if (positions != nullptr) positions[window] = position;
  }
}

// Divides by the elements of the kernel, or by those in the image.
extern "C" __global__ void __launch_bounds__(256, 1) averagePool(const T* images, T* means, Windows w, int countsPadding, int64 count) {
  for (int64 window = firstElement(); window < count; window += gridStride()) {
    float sum = 0.0f;
    int elements = 0;
    forEachElement(w, placeOf(w, window), [&](int64 at) {
      sum += images[at];
      ++elements;
    });
    means[window] = sum / static_cast<float>(countsPadding ? w.kernel[0] * w.kernel[1] * w.kernel[2] : elements);
  }
}

extern "C" __global__ void __launch_bounds__(256) maxUnpool(const T* values, const int64* positions, T* images, int64 size, int64 count) {
  for (int64 window = firstElement(); window < count; window += gridStride()) {
    const int64 position = positions[window];
    if (position >= 0 && position < size) images[position] = values[window];
  }
}
`;

const kernels = typedKernels('pooling', ['T'], body, ['maxPool', 'averagePool', 'maxUnpool']);

export const poolingKernels = kernels.all([{ T: 'float32' }, { T: 'bfloat16' }]);

export const pooling: LoweringFamily<'MaxPool' | 'AveragePool' | 'MaxUnpool' | 'MaxPoolGradient'> = {
  MaxPool: ({ inputs: [x], outputs: [maxima, positions], attributes }, lowering) => {
    const places: GpuArgument = lowering.isRead(positions) ? lowering.at(positions) : { uint64: 0 };
    const args = [lowering.at(x), lowering.at(maxima), places, windowsOf(x, maxima, attributes)];
    launchElements(lowering, kernels.of({ T: x.dtype }).maxPool, sizeOf(maxima.shape), args);
  },
  AveragePool: ({ inputs: [x], outputs: [means], attributes }, lowering) => {
    const windows = windowsOf(x, means, attributes);
    const args = [lowering.at(x), lowering.at(means), windows, int32(Number(attributes.countIncludePad))];
    launchElements(lowering, kernels.of({ T: x.dtype }).averagePool, sizeOf(means.shape), args);
  },
  MaxUnpool: ({ inputs: [values, positions], outputs: [images] }, lowering) => {
    const size = sizeOf(images.shape);
    const bytes = bytesOf(images.dtype) * size;
    if (bytes > 0) lowering.add({ kind: 'fill', name: 'maxUnpool', at: lowering.at(images), bytes });
    const args = [lowering.at(values), lowering.at(positions), lowering.at(images), int64(size)];
    launchElements(lowering, kernels.of({ T: values.dtype }).maxUnpool, sizeOf(values.shape), args);
  },
  MaxPoolGradient: ({ inputs: [gradients, positions], outputs: [images] }, lowering) => {
    const flat = [gradients, images].map((value) => ({ ...value, shape: [sizeOf(value.shape)] }));
    const arrays = [lowering.at(positions), lowering.at(gradients), lowering.at(images)] as const;
    addElements(lowering, flat[0], flat[1], 0, ...arrays);
  },
};

/** The struct Windows. */
function windowsOf(
  images: Value,
  pooled: Value,
  { kernelShape, strides, pads, dilations = [] }: PoolAttributes,
): GpuArgument {
  const added = axes - kernelShape.length;
  const all = (numbers: readonly number[], rest: number) =>
    Array.from({ length: axes }, (_, axis) => numbers[axis - added] ?? rest);
  const numbers = [
    ...[all(images.shape.slice(2), 1), all(pooled.shape.slice(2), 1), all(kernelShape, 1), all(strides, 1)],
    ...[all(pads.slice(0, kernelShape.length), 0), all(dilations, 1)],
  ];
  return { bytes: new Uint8Array(Int32Array.from(numbers.flat()).buffer) };
}
