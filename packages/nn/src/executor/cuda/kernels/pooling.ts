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
  // Channels of images [N, spatial…, C]; 0 for images [N, C, spatial…].
  int channels;

  __device__ __forceinline__ int64 elements() const { return static_cast<int64>(size[0]) * size[1] * size[2]; }
};

// Elements of one channel of an image: their number among the channels of all images, and where they are in memory.
struct Channel {
  int64 number, first, step;
};

__device__ __forceinline__ Channel channelOf(const Windows& w, int64 image, int channel) {
  if (w.channels == 0) return {image, image * w.elements(), 1};
  return {image * w.channels + channel, image * w.elements() * w.channels + channel, w.channels};
}

// A window: its channel, and where its first element is, which may be in the padding.
struct Place {
  Channel channel;
  int start[${axes}];
};

// The elements of one image, or of one channel of it, are counted with 32 bits, whose division is faster.
__device__ __forceinline__ Place placeOf(const Windows& w, int64 window) {
  Place place;
  const unsigned channels = w.channels == 0 ? 1 : w.channels;
  const int64 windowsOfImage = static_cast<int64>(channels) * w.pooled[0] * w.pooled[1] * w.pooled[2];
  const int64 image = window / windowsOfImage;
  unsigned rest = static_cast<unsigned>(window - image * windowsOfImage);
  const int channel = static_cast<int>(rest % channels);
  rest /= channels;
  for (int axis = ${axes - 1}; axis >= 0; --axis) {
    const unsigned pooled = static_cast<unsigned>(w.pooled[axis]);
    place.start[axis] = static_cast<int>(rest % pooled) * w.stride[axis] - w.before[axis];
    rest /= pooled;
  }
  place.channel = channelOf(w, image, channel);
  return place;
}

// Calls body(at, position) for the elements of a window that are in the image, in order: where it is in memory, and in images
// [N, C, spatial…].
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
        if (z < 0 || z >= w.size[2]) continue;
        const int64 element = (static_cast<int64>(x) * w.size[1] + y) * w.size[2] + z;
        body(place.channel.first + element * place.channel.step, place.channel.number * w.elements() + element);
      }
    }
  }
}

// The first of the largest elements; the last NaN wins. A window of −∞ has the position of its first element.
extern "C" __global__ void __launch_bounds__(256, 1) maxPool(const T* images, T* maxima, int64* positions, Windows w, int64 count) {
  for (int64 window = firstElement(); window < count; window += gridStride()) {
    float largest = -kInfinity;
    int64 position = -1;
    forEachElement(w, placeOf(w, window), [&](int64 at, int64 found) {
      const float x = images[at];
      if (!(x > largest || x != x || position < 0)) return;
      largest = x;
      position = found;
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
    forEachElement(w, placeOf(w, window), [&](int64 at, int64) {
      sum += images[at];
      ++elements;
    });
    means[window] = sum / static_cast<float>(countsPadding ? w.kernel[0] * w.kernel[1] * w.kernel[2] : elements);
  }
}

extern "C" __global__ void __launch_bounds__(256) maxUnpool(const T* values, const int64* positions, T* images, int64 size, int64 elements, int channels,
                                                           int64 count) {
  for (int64 window = firstElement(); window < count; window += gridStride()) {
    const int64 position = positions[window];
    if (position < 0 || position >= size) continue;
    // Images [N, elements, channels], unless there are no channels.
    const int64 plane = position / elements;
    const int64 at = channels == 0 ? position : ((plane / channels) * elements + position % elements) * channels + plane % channels;
    images[at] = values[window];
  }
}

// The gradients of the windows that have an element as their largest one, added in the order of the windows. Images [N, spatial…, C].
extern "C" __global__ void __launch_bounds__(256, 1) maxPoolGradient(const T* gradients, const int64* positions, T* images, Windows w, int64 count) {
  const int64 elementsOfImage = w.elements() * w.channels;
  for (int64 i = firstElement(); i < count; i += gridStride()) {
    const int64 image = i / elementsOfImage;
    unsigned rest = static_cast<unsigned>(i - image * elementsOfImage);
    const int channel = static_cast<int>(rest % w.channels);
    rest /= static_cast<unsigned>(w.channels);
    const int64 position = (image * w.channels + channel) * w.elements() + rest;
    int first[${axes}], end[${axes}];
#pragma unroll
    for (int axis = ${axes - 1}; axis >= 0; --axis) {
      const unsigned size = static_cast<unsigned>(w.size[axis]);
      const int to = static_cast<int>(rest % size) + w.before[axis], from = to - (w.kernel[axis] - 1) * w.dilation[axis];
      first[axis] = from <= 0 ? 0 : (from + w.stride[axis] - 1) / w.stride[axis];
      end[axis] = min(w.pooled[axis], to / w.stride[axis] + 1);
      rest /= size;
    }
    float sum = 0.0f;
#pragma unroll 1
    for (int x = first[0]; x < end[0]; ++x) {
#pragma unroll 1
      for (int y = first[1]; y < end[1]; ++y) {
        const int64 row = ((image * w.pooled[0] + x) * w.pooled[1] + y) * w.pooled[2];
        for (int z = first[2]; z < end[2]; ++z) {
          const int64 window = (row + z) * w.channels + channel;
          if (positions[window] == position) sum += gradients[window];
        }
      }
    }
    images[i] = sum;
  }
}
`;

const kernels = typedKernels('pooling', ['T'], body, [
  ...(['maxPool', 'averagePool', 'maxUnpool', 'maxPoolGradient'] as const),
]);

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
  MaxUnpool: ({ inputs: [values, positions], outputs: [images], attributes }, lowering) => {
    const size = sizeOf(images.shape);
    const bytes = bytesOf(images.dtype) * size;
    if (bytes > 0) lowering.add({ kind: 'fill', name: 'maxUnpool', at: lowering.at(images), bytes });
    const { shape } = images;
    const isLast = attributes.channelsLast === true;
    const elements = sizeOf(isLast ? shape.slice(1, -1) : shape.slice(2));
    const arrays = [lowering.at(values), lowering.at(positions), lowering.at(images)];
    const args = [...arrays, int64(size), int64(elements), int32(isLast ? shape[shape.length - 1] : 0)];
    launchElements(lowering, kernels.of({ T: values.dtype }).maxUnpool, sizeOf(values.shape), args);
  },
  MaxPoolGradient: ({ inputs: [gradients, positions], outputs: [images], attributes }, lowering) => {
    const { window } = attributes;
    if (window?.channelsLast) {
      const arrays = [gradients, positions, images].map((value) => lowering.at(value));
      const args = [...arrays, windowsOf(images, gradients, window)];
      launchElements(lowering, kernels.of({ T: images.dtype }).maxPoolGradient, sizeOf(images.shape), args);
      return;
    }
    const flat = [gradients, images].map((value) => ({ ...value, shape: [sizeOf(value.shape)] }));
    const arrays = [lowering.at(positions), lowering.at(gradients), lowering.at(images)] as const;
    addElements(lowering, flat[0], flat[1], 0, ...arrays);
  },
};

/** The struct Windows. */
function windowsOf(
  images: Value,
  pooled: Value,
  { kernelShape, strides, pads, dilations = [], channelsLast = false }: PoolAttributes,
): GpuArgument {
  const spatial = ({ shape }: Value) => (channelsLast ? shape.slice(1, -1) : shape.slice(2));
  const added = axes - kernelShape.length;
  const all = (numbers: readonly number[], rest: number) =>
    Array.from({ length: axes }, (_, axis) => numbers[axis - added] ?? rest);
  const numbers = [
    ...[all(spatial(images), 1), all(spatial(pooled), 1), all(kernelShape, 1), all(strides, 1)],
    ...[all(pads.slice(0, kernelShape.length), 0), all(dilations, 1)],
  ];
  const channels = channelsLast ? images.shape[images.shape.length - 1] : 0;
  return { bytes: new Uint8Array(Int32Array.from([...numbers.flat(), channels]).buffer) };
}
