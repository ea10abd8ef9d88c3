#include "operators/toom_cook.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "operators/inner_products.h"
#include "operators/row_product.h"
#include "operators/transform_lanes.h"
#include "operators/transpose.h"
#include "operators/vectors.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

constexpr std::size_t kMostPoints = ToomCookConvolution::kMostPoints;

// outputs[i] = Σ over j of matrix[i,j]·inputs[j], elementwise; a null input is 0. At most kMostPoints inputs. All inputs
// are read from `from` on, and all outputs are written from `to` on. In and Out: float, or std::uint16_t for bfloat16.
template <typename In, typename Out>
struct Map {
  const float* matrix;
  std::size_t rows;
  std::size_t columns;
  const In* const* inputs;
  Out* const* outputs;
  std::size_t count;
  std::size_t from = 0;
  std::size_t to = 0;
};

struct ApplyMap {
  template <std::size_t Bytes, typename In, typename Out>
  static RINGRUN_INLINE void run(const Map<In, Out>& map) {
    runFrom<Bytes, 1>(map);
  }

 private:
  // The number of inputs is a compile-time constant, so that they stay in registers.
  template <std::size_t Bytes, std::size_t Columns, typename In, typename Out>
  static RINGRUN_INLINE void runFrom(const Map<In, Out>& given) {
    if (given.columns != Columns) {
      if constexpr (Columns < kMostPoints) runFrom<Bytes, Columns + 1>(given);
      return;
    }
    const Map<In, Out> map = given;
    const std::size_t whole = map.count / kLanes * kLanes;
    for (std::size_t place = 0; place < whole; place += kLanes) mapLanes<Bytes, Columns>(map, place, kLanes);
    if (whole < map.count) mapLanes<Bytes, Columns>(map, whole, map.count - whole);
  }

  template <std::size_t Bytes, std::size_t Columns, typename In, typename Out>
  static RINGRUN_INLINE void mapLanes(const Map<In, Out>& map, std::size_t place, std::size_t lanes) {
    Lanes<Bytes> inputs[Columns];
#pragma GCC unroll 9
    for (std::size_t j = 0; j < Columns; ++j) {
      inputs[j] = {};
      if (map.inputs[j] != nullptr) inputs[j].load(map.inputs[j] + map.from + place, lanes, 0);
    }
    transformLanes(map.matrix, map.rows, inputs,
                   [&](std::size_t i, const Lanes<Bytes>& sum) __attribute__((always_inline)) { sum.store(map.outputs[i] + map.to + place, lanes); });
  }
};

template <typename In, typename Out>
void apply(const Map<In, Out>& map) {
  runVectorised<ApplyMap>(map);
}

// Runs of 16 elements, `count` of them, from `from` with stride `fromStride` to `to` with stride `toStride`.
struct CopyRuns {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const float* from, std::size_t fromStride, float* to, std::size_t toStride, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      Lanes<Bytes> lanes;
      lanes.load(from + i * fromStride);
      lanes.store(to + i * toStride);
    }
  }
};

std::array<float, kMostPoints * kMostPoints> transposed(const float* matrix, std::size_t rows, std::size_t columns) {
  std::array<float, kMostPoints * kMostPoints> to{};
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) to[j * rows + i] = matrix[i * columns + j];
  }
  return to;
}

// The rows of one phase of a channel of a tile's columns at the points, for the places of a part and of all taps: outputs of
// length + reach elements.
template <typename T>
void transformImage(const ToomCookConvolution& c, const T* image, const TilePart& part, std::size_t channel, std::size_t phase,
                    float* const* outputs) {
  const std::size_t count = part.length() + c.reach(phase);
  const auto height = static_cast<std::ptrdiff_t>(c.height);
  const T* inputs[kMostPoints];
  for (std::size_t j = 0; j < c.span; ++j) {
    const std::ptrdiff_t column = static_cast<std::ptrdiff_t>(part.tile * c.advance + j) + c.start;
    const bool exists = column >= 0 && column < static_cast<std::ptrdiff_t>(c.width);
    inputs[j] = exists ? image + (static_cast<std::size_t>(column) * c.channels + channel) * c.height * c.batch : nullptr;
  }
  std::size_t begin = part.begin % c.batch;
  std::ptrdiff_t row = static_cast<std::ptrdiff_t>(part.begin / c.batch * c.rowStride + phase) - c.before;
  std::size_t place = 0;
  while (place < count) {
    const bool isInside = row >= 0 && row < height;
    // Without a stride, all rows up to an edge of the image are adjacent.
    const std::ptrdiff_t rows = c.rowStride > 1 || row >= height ? 1 : (isInside ? height : 0) - row;
    const std::size_t length = std::min(static_cast<std::size_t>(rows) * c.batch - begin, count - place);
    if (isInside) {
      apply(Map<T, float>{c.inputTransform, c.points, c.span, inputs, outputs, length, static_cast<std::size_t>(row) * c.batch + begin, place});
    } else {
      for (std::size_t p = 0; p < c.points; ++p) std::fill_n(outputs[p] + place, length, 0.0f);
    }
    place += length;
    row += rows * static_cast<std::ptrdiff_t>(c.rowStride);
    begin = 0;
  }
}

// Columns of results of one filter from its products [points] of a part.
template <typename T>
void transformResults(const ToomCookConvolution& c, const float* const* products, const TilePart& part, std::size_t filter, T* result) {
  const std::size_t first = part.tile * c.tile;
  const std::size_t columns = std::min(c.tile, c.resultWidth - first);
  T* outputs[kMostPoints];
  for (std::size_t i = 0; i < columns; ++i) outputs[i] = result + ((first + i) * c.filters + filter) * c.resultHeight * c.batch;
  std::size_t begin = part.begin % c.batch;
  std::size_t row = c.firstRow + part.begin / c.batch * c.rowStep;
  std::size_t place = 0;
  while (place < part.length()) {
    const std::size_t left = part.length() - place;
    const std::size_t length = c.rowStep == 1 ? left : std::min(c.batch - begin, left);
    apply(Map<float, T>{c.outputTransform, columns, c.points, products, outputs, length, place, row * c.batch + begin});
    place += length;
    row += c.rowStep;
    begin = 0;
  }
}

// The image at a point, for one channel and tap.
const float* imageRow(const ToomCookConvolution& c, const PartAtPoints& part, std::size_t point, std::size_t row) {
  const std::size_t tap = row % c.rowTaps;
  const float* const ofChannel = part.image + (point * c.channels + row / c.rowTaps) * c.imageLength(part.length);
  return ofChannel + c.phaseBegin(c.phaseOf(tap), part.length) + c.shiftOf(tap);
}

}  // namespace

std::size_t ToomCookConvolution::paddedFilters() const { return RowProduct::padded(filters); }

std::size_t ToomCookConvolution::phaseBegin(std::size_t phase, std::size_t length) const {
  std::size_t begin = 0;
  for (std::size_t before = 0; before < phase; ++before) begin += length + reach(before);
  return begin;
}

ToomCookConvolution transposedRows(const ToomCookConvolution& c, std::size_t phase) {
  const std::size_t stride = c.rowStride;
  // Row phase + i·stride of the result is row i·stride + shifted of the padded one.
  const std::size_t shifted = phase + static_cast<std::size_t>(c.before);
  ToomCookConvolution of = c;
  of.rowStride = 1;
  of.firstTap = shifted % stride;
  of.tapStep = stride;
  of.rowTaps = of.firstTap < c.kernelRows ? (c.kernelRows - 1 - of.firstTap) / stride + 1 : 0;
  of.firstRow = phase;
  of.rowStep = stride;
  of.resultRows = phase < c.resultHeight ? (c.resultHeight - 1 - phase) / stride + 1 : 0;
  if (of.rowTaps > 0) of.before = static_cast<std::ptrdiff_t>((of.rowTaps - 1) * c.dilation) - static_cast<std::ptrdiff_t>(shifted / stride);
  return of;
}

void weightsAtPoints(const ToomCookConvolution& c, const float* weights, bool isTransposed, std::size_t firstFilter, std::size_t endFilter, float* to) {
  thread_local AlignedFloats taps;
  const std::size_t inner = c.inner();
  const std::size_t count = endFilter - firstFilter;
  const std::size_t perPair = c.kernelRows * c.columnTaps;
  // [filters, columnTaps, inner]. Filters are the inner loop if they are adjacent in memory.
  taps.resize(count * c.columnTaps * inner);
  const auto read = [&](std::size_t filter, std::size_t channel) {
    const std::size_t pair = isTransposed ? channel * c.filters + filter : filter * c.channels + channel;
    const float* const from = weights + pair * perPair;
    float* const own = taps.data() + (filter - firstFilter) * c.columnTaps * inner + channel * c.rowTaps;
    for (std::size_t k = 0; k < c.rowTaps; ++k) {
      const std::size_t row = c.firstTap + c.tapStep * (isTransposed ? c.rowTaps - 1 - k : k);
      for (std::size_t j = 0; j < c.columnTaps; ++j) {
        own[j * inner + k] = from[row * c.columnTaps + (isTransposed ? c.columnTaps - 1 - j : j)];
      }
    }
  };
  if (isTransposed) {
    for (std::size_t channel = 0; channel < c.channels; ++channel) {
      for (std::size_t filter = firstFilter; filter < endFilter; ++filter) read(filter, channel);
    }
  } else {
    for (std::size_t filter = firstFilter; filter < endFilter; ++filter) {
      for (std::size_t channel = 0; channel < c.channels; ++channel) read(filter, channel);
    }
  }
  for (std::size_t filter = firstFilter; filter < endFilter; ++filter) {
    const float* inputs[kMostPoints];
    float* outputs[kMostPoints];
    for (std::size_t j = 0; j < c.columnTaps; ++j) inputs[j] = taps.data() + ((filter - firstFilter) * c.columnTaps + j) * inner;
    for (std::size_t p = 0; p < c.points; ++p) outputs[p] = to + (p * c.filters + filter) * inner;
    apply(Map<float, float>{c.weightTransform, c.points, c.columnTaps, inputs, outputs, inner});
  }
}

template <typename T>
void convolvePart(const ToomCookConvolution& c, const T* image, const float* weightsAtPoints, const TilePart& part, T* result) {
  thread_local AlignedFloats channel, matrices, products;
  thread_local std::vector<const float*> from, panels;
  thread_local std::vector<float*> to;
  const std::size_t inner = c.inner();
  const std::size_t padded = RowProduct::padded(part.length());
  const std::size_t count = padded / kLanes;
  // The last panel may have more lanes than places are left. The results of these lanes are not read.
  const std::size_t stride = RowProduct::padded(c.imageLength(padded));
  channel.resize(c.points * stride);
  matrices.resize(c.points * padded * inner);
  products.resize(c.points * c.filters * padded);
  float* outputs[kMostPoints];
  for (std::size_t one = 0; one < c.channels; ++one) {
    for (std::size_t phase = 0; phase < c.phases(); ++phase) {
      for (std::size_t p = 0; p < c.points; ++p) outputs[p] = channel.data() + p * stride + c.phaseBegin(phase, padded);
      transformImage(c, image, part, one, phase, outputs);
    }
    for (std::size_t p = 0; p < c.points; ++p) {
      for (std::size_t tap = 0; tap < c.rowTaps; ++tap) {
        const float* const run = channel.data() + p * stride + c.phaseBegin(c.phaseOf(tap), padded) + c.shiftOf(tap);
        float* const row = matrices.data() + p * padded * inner + (one * c.rowTaps + tap) * kLanes;
        runVectorised<CopyRuns>(run, kLanes, row, inner * kLanes, count);
      }
    }
  }
  panels.resize(count);
  from.resize(c.filters);
  to.resize(c.filters);
  for (std::size_t p = 0; p < c.points; ++p) {
    for (std::size_t panel = 0; panel < count; ++panel) panels[panel] = matrices.data() + (p * count + panel) * inner * kLanes;
    for (std::size_t m = 0; m < c.filters; ++m) {
      from[m] = weightsAtPoints + (p * c.filters + m) * inner;
      to[m] = products.data() + (p * c.filters + m) * padded;
    }
    multiplyPanels({panels.data(), count, inner, from.data(), nullptr, to.data(), c.filters});
  }
  for (std::size_t m = 0; m < c.filters; ++m) {
    const float* inputs[kMostPoints];
    for (std::size_t p = 0; p < c.points; ++p) inputs[p] = products.data() + (p * c.filters + m) * padded;
    transformResults(c, inputs, part, m, result);
  }
}

template <typename T>
void imageAtPoints(const ToomCookConvolution& c, const T* image, const TilePart& part, std::size_t channel, float* to) {
  const std::size_t length = c.imageLength(part.length());
  float* outputs[kMostPoints];
  for (std::size_t phase = 0; phase < c.phases(); ++phase) {
    const std::size_t begin = c.phaseBegin(phase, part.length());
    for (std::size_t p = 0; p < c.points; ++p) outputs[p] = to + (p * c.channels + channel) * length + begin;
    transformImage(c, image, part, channel, phase, outputs);
  }
}

template <typename T>
void gradientAtPoints(const ToomCookConvolution& c, const T* gradient, const TilePart& part, std::size_t panel, float* to) {
  // Places that are transposed at once, in the first-level cache.
  constexpr std::size_t kRun = 64;
  alignas(64) float rows[kMostPoints][kLanes][kRun];
  const auto matrix = transposed(c.outputTransform, c.tile, c.points);
  const std::size_t length = part.length();
  const std::size_t panels = c.paddedFilters() / kLanes;
  for (std::size_t begin = 0; begin < length; begin += kRun) {
    const std::size_t count = std::min(kRun, length - begin);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t filter = panel * kLanes + lane;
      const T* inputs[kMostPoints];
      float* outputs[kMostPoints];
      for (std::size_t i = 0; i < c.tile; ++i) {
        const std::size_t column = part.tile * c.tile + i;
        const bool exists = column < c.resultWidth && filter < c.filters;
        inputs[i] = exists ? gradient + (column * c.filters + filter) * c.places() + part.begin + begin : nullptr;
      }
      for (std::size_t p = 0; p < c.points; ++p) outputs[p] = rows[p][lane];
      apply(Map<T, float>{matrix.data(), c.points, c.tile, inputs, outputs, count});
    }
    for (std::size_t p = 0; p < c.points; ++p) {
      float* const own = to + ((p * panels + panel) * length + begin) * kLanes;
      transposeWords({&rows[p][0][0], kRun * sizeof(float), kLanes, count}, reinterpret_cast<std::uint32_t*>(own), kLanes);
    }
  }
}

template <typename T>
void gradientRowAtPoints(const ToomCookConvolution& c, const T* gradient, const TilePart& part, std::size_t filter, float* to) {
  const auto matrix = transposed(c.outputTransform, c.tile, c.points);
  const T* inputs[kMostPoints];
  float* outputs[kMostPoints];
  for (std::size_t i = 0; i < c.tile; ++i) {
    const std::size_t column = part.tile * c.tile + i;
    inputs[i] = column < c.resultWidth ? gradient + (column * c.filters + filter) * c.places() + part.begin : nullptr;
  }
  for (std::size_t p = 0; p < c.points; ++p) outputs[p] = to + (p * c.filters + filter) * part.length();
  apply(Map<T, float>{matrix.data(), c.points, c.tile, inputs, outputs, part.length()});
}

void addInnerProducts(const ToomCookConvolution& c, const PartAtPoints& part, std::size_t point, float* lanes) {
  thread_local std::vector<const float*> images, gradients;
  images.resize(c.inner());
  gradients.resize(c.filters);
  for (std::size_t row = 0; row < c.inner(); ++row) images[row] = imageRow(c, part, point, row);
  for (std::size_t m = 0; m < c.filters; ++m) gradients[m] = part.gradient + (point * c.filters + m) * part.length;
  innerProducts({images.data(), c.inner(), gradients.data(), c.filters, part.length}, !part.isFirst, lanes + point * c.inner() * c.filters * kLanesOfInnerProduct);
}

void sumLanes(const ToomCookConvolution& c, const float* lanes, std::size_t point, float* sums) {
  for (std::size_t row = point * c.inner(); row < (point + 1) * c.inner(); ++row) {
    for (std::size_t m = 0; m < c.filters; ++m) {
      sums[row * c.paddedFilters() + m] = sumOfLanes(lanes + (row * c.filters + m) * kLanesOfInnerProduct);
    }
  }
}

void addProducts(const ToomCookConvolution& c, const PartAtPoints& part, std::size_t point, std::size_t firstRow, std::size_t endRow, float* sums) {
  thread_local std::vector<const float*> from, panels;
  thread_local std::vector<float*> to;
  const std::size_t count = c.paddedFilters() / kLanes;
  panels.resize(count);
  for (std::size_t panel = 0; panel < count; ++panel) panels[panel] = part.gradient + (point * count + panel) * part.length * kLanes;
  from.resize(endRow - firstRow);
  to.resize(endRow - firstRow);
  for (std::size_t row = firstRow; row < endRow; ++row) {
    from[row - firstRow] = imageRow(c, part, point, row);
    to[row - firstRow] = sums + (point * c.inner() + row) * count * kLanes;
  }
  multiplyPanels({panels.data(), count, part.length, from.data(), part.isFirst ? nullptr : to.data(), to.data(), to.size()});
}

void weightsFromPoints(const ToomCookConvolution& c, const float* sums, std::size_t channel, float* weights) {
  thread_local AlignedFloats taps;
  const std::size_t padded = c.paddedFilters();
  const std::size_t perPair = c.rowTaps * c.columnTaps;
  const auto matrix = transposed(c.weightTransform, c.points, c.columnTaps);
  // [rowTaps, columnTaps, filters]
  taps.resize(perPair * padded);
  for (std::size_t k = 0; k < c.rowTaps; ++k) {
    const float* inputs[kMostPoints];
    float* outputs[kMostPoints];
    for (std::size_t p = 0; p < c.points; ++p) inputs[p] = sums + (p * c.inner() + channel * c.rowTaps + k) * padded;
    for (std::size_t j = 0; j < c.columnTaps; ++j) outputs[j] = taps.data() + (k * c.columnTaps + j) * padded;
    apply(Map<float, float>{matrix.data(), c.columnTaps, c.points, inputs, outputs, c.filters});
  }
  for (std::size_t m = 0; m < c.filters; ++m) {
    float* const own = weights + (m * c.channels + channel) * perPair;
    for (std::size_t tap = 0; tap < perPair; ++tap) own[tap] = taps.data()[tap * padded + m];
  }
}

#define RINGRUN_OF_TYPE(T)                                                                                       \
  template void convolvePart(const ToomCookConvolution&, const T*, const float*, const TilePart&, T*);           \
  template void imageAtPoints(const ToomCookConvolution&, const T*, const TilePart&, std::size_t, float*);       \
  template void gradientAtPoints(const ToomCookConvolution&, const T*, const TilePart&, std::size_t, float*);    \
  template void gradientRowAtPoints(const ToomCookConvolution&, const T*, const TilePart&, std::size_t, float*)

RINGRUN_OF_TYPE(float);
RINGRUN_OF_TYPE(std::uint16_t);

#undef RINGRUN_OF_TYPE
#undef RINGRUN_INLINE

}  // namespace ringrun
