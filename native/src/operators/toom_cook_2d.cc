#include "operators/toom_cook_2d.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "operators/product/panels.h"
#include "operators/transform_lanes.h"
#include "operators/transpose.h"
#include "operators/vectors.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

constexpr std::size_t kMostPoints = ToomCook2d::kMostPoints;

// A matrix [rows, columns].
struct Matrix {
  const float* elements;
  std::size_t rows;
  std::size_t columns;
};

// Rows of 16 lanes: row i is at `from` + i·stride.
struct Rows {
  float* from;
  std::size_t stride;
};

// to[i] = Σ over j of matrix[i,j]·inputs[j]. `read(j, lanes)` reads an input.
template <std::size_t Bytes, std::size_t Columns = 1, typename Read>
RINGRUN_INLINE void apply(const Matrix& matrix, const Read& read, const Rows& to) {
  if (matrix.columns != Columns) {
    if constexpr (Columns < kMostPoints) apply<Bytes, Columns + 1>(matrix, read, to);
    return;
  }
  Lanes<Bytes> inputs[Columns];
#pragma GCC unroll 9
  for (std::size_t j = 0; j < Columns; ++j) read(j, inputs[j]);
  transformLanes(matrix.elements, matrix.rows, inputs,
                 [&](std::size_t i, const Lanes<Bytes>& sum) __attribute__((always_inline)) { sum.store(to.from + i * to.stride); });
}

struct ReadRows {
  const float* from;
  std::size_t stride;

  template <std::size_t Bytes>
  RINGRUN_INLINE void operator()(std::size_t j, Lanes<Bytes>& lanes) const {
    lanes.load(from + j * stride);
  }
};

// Lanes of a row of a tile, one pointer for each of its columns; a null pointer is 0.
template <typename T>
struct ReadColumns {
  const T* const* from;
  std::size_t offset;
  std::size_t count;

  template <std::size_t Bytes>
  RINGRUN_INLINE void operator()(std::size_t j, Lanes<Bytes>& lanes) const {
    lanes = {};
    if (from[j] != nullptr) lanes.load(from[j] + offset, count, 0);
  }
};

// Applies `along` to the columns of [rows, columns] runs of 16 lanes: `buffer` [rows, along.columns] becomes `to`, whose row (i, j)
// is point i·width + j.
template <std::size_t Bytes>
RINGRUN_INLINE void applyToColumns(const Matrix& along, const float* buffer, std::size_t width, const Rows& to) {
  for (std::size_t j = 0; j < width; ++j) {
    apply<Bytes>(along, ReadRows{buffer + j * kLanes, width * kLanes}, {to.from + j * to.stride, width * to.stride});
  }
}

struct Places {
  std::size_t row;     // of tiles
  std::size_t begin;   // of the batch
  std::size_t count;   // at most 16
};

Places placesOf(const ToomCook2d& c, std::size_t panel) {
  const std::size_t begin = panel % c.panelsOfBatch() * kLanes;
  return {panel / c.panelsOfBatch(), begin, std::min(kLanes, c.batch - begin)};
}

Matrix inputTransform(const TiledAxis& axis) { return {axis.inputTransform, axis.points(), axis.points()}; }

// One channel of an image at the points, panel after panel: point p of panel q is at to + p·pointStride + (q − begin)·panelStride.
struct TransformImage {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const ToomCook2d& c, const T* image, const PanelRange& part, std::size_t channel, float* to,
                                 std::size_t pointStride, std::size_t panelStride) {
    alignas(64) float buffer[kMostPoints * kMostPoints * kLanes];
    const std::size_t width = c.columns.points(), height = c.rows.points();
    const T* columns[kMostPoints];
    for (std::size_t j = 0; j < width; ++j) {
      const std::size_t padded = part.column * c.columns.tile + j;
      const bool exists = padded >= c.columns.before && padded - c.columns.before < c.columns.size;
      columns[j] = exists ? image + ((padded - c.columns.before) * c.channels + channel) * c.rows.size * c.batch : nullptr;
    }
    for (std::size_t panel = part.begin; panel < part.end; ++panel) {
      const Places places = placesOf(c, panel);
      for (std::size_t i = 0; i < height; ++i) {
        const std::size_t padded = places.row * c.rows.tile + i;
        const Rows row{buffer + i * width * kLanes, kLanes};
        if (padded < c.rows.before || padded - c.rows.before >= c.rows.size) {
          std::memset(row.from, 0, width * kLanes * sizeof(float));
          continue;
        }
        const std::size_t offset = (padded - c.rows.before) * c.batch + places.begin;
        apply<Bytes>(inputTransform(c.columns), ReadColumns<T>{columns, offset, places.count}, row);
      }
      applyToColumns<Bytes>(inputTransform(c.rows), buffer, width, {to + (panel - part.begin) * panelStride, pointStride});
    }
  }
};

// Results of one filter from its products: point p of panel q is at products + p·pointStride + (q − begin)·16.
struct TransformResults {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const ToomCook2d& c, const float* products, std::size_t pointStride, const PanelRange& part, std::size_t filter,
                                 T* result) {
    alignas(64) float buffer[kMostPoints * kMostPoints * kLanes];
    alignas(64) float tile[kMostPoints * kMostPoints * kLanes];
    const std::size_t width = c.columns.points(), height = c.rows.points();
    const std::size_t firstColumn = part.column * c.columns.tile;
    const std::size_t columns = std::min(c.columns.tile, c.columns.results - firstColumn);
    const Matrix alongWidth{c.columns.outputTransform, columns, width};
    for (std::size_t panel = part.begin; panel < part.end; ++panel) {
      const Places places = placesOf(c, panel);
      const std::size_t firstRow = places.row * c.rows.tile;
      const std::size_t rows = std::min(c.rows.tile, c.rows.results - firstRow);
      const float* const from = products + (panel - part.begin) * kLanes;
      for (std::size_t i = 0; i < height; ++i) {
        apply<Bytes>(alongWidth, ReadRows{from + i * width * pointStride, pointStride}, {buffer + i * columns * kLanes, kLanes});
      }
      applyToColumns<Bytes>({c.rows.outputTransform, rows, height}, buffer, columns, {tile, kLanes});
      for (std::size_t j = 0; j < columns; ++j) {
        T* const to = result + (((firstColumn + j) * c.filters + filter) * c.rows.results + firstRow) * c.batch + places.begin;
        for (std::size_t i = 0; i < rows; ++i) {
          Lanes<Bytes> lanes;
          lanes.load(tile + (i * columns + j) * kLanes);
          lanes.store(to + i * c.batch, places.count);
        }
      }
    }
  }
};

// Runs of 16 lanes [taps of rows, taps of columns] at the points.
struct TransformWeights {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const ToomCook2d& c, const float* taps, float* to, std::size_t pointStride) {
    alignas(64) float buffer[kMostPoints * kMostPoints * kLanes];
    const std::size_t width = c.columns.points();
    const Matrix alongWidth{c.columns.weightTransform, width, c.columns.taps};
    for (std::size_t k = 0; k < c.rows.taps; ++k) {
      apply<Bytes>(alongWidth, ReadRows{taps + k * c.columns.taps * kLanes, kLanes}, {buffer + k * width * kLanes, kLanes});
    }
    applyToColumns<Bytes>({c.rows.weightTransform, c.rows.points(), c.rows.taps}, buffer, width, {to, pointStride});
  }
};

using Transposed = std::array<float, kMostPoints * kMostPoints>;

Transposed transposed(const Matrix& matrix) {
  Transposed to{};
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    for (std::size_t j = 0; j < matrix.columns; ++j) to[j * matrix.rows + i] = matrix.elements[i * matrix.columns + j];
  }
  return to;
}

// Runs of 16 lanes at the points back to [taps of rows, taps of columns]: the transpose of TransformWeights.
struct TransformSums {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const ToomCook2d& c, const Transposed& rows, const Transposed& columns, const float* sums, std::size_t pointStride,
                                 float* taps) {
    alignas(64) float buffer[kMostPoints * kMostPoints * kLanes];
    const std::size_t width = c.columns.points(), height = c.rows.points();
    const Matrix alongWidth{columns.data(), c.columns.taps, width};
    for (std::size_t i = 0; i < height; ++i) {
      apply<Bytes>(alongWidth, ReadRows{sums + i * width * pointStride, pointStride}, {buffer + i * c.columns.taps * kLanes, kLanes});
    }
    applyToColumns<Bytes>({rows.data(), c.rows.taps, height}, buffer, c.columns.taps, {taps, kLanes});
  }
};

// 16 filters of the gradient of a tile's results at the points. Lanes become filters before the transforms.
struct TransformGradient {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const ToomCook2d& c, const Transposed& ofRows, const Transposed& ofColumns, const T* gradient, const PanelRange& part,
                                 std::size_t panelOfFilters, float* to, std::size_t pointStride) {
    alignas(64) float rowsOfBatch[kLanes * kLanes];
    alignas(64) float tile[kMostPoints * kMostPoints * kLanes * kLanes];
    alignas(64) float buffer[kMostPoints * kMostPoints * kLanes];
    const std::size_t width = c.columns.points();
    const std::size_t firstColumn = part.column * c.columns.tile;
    const std::size_t columns = std::min(c.columns.tile, c.columns.results - firstColumn);
    const std::size_t firstFilter = panelOfFilters * kLanes;
    const std::size_t filters = std::min(kLanes, c.filters - firstFilter);
    const Matrix alongWidth{ofColumns.data(), width, c.columns.tile};
    const Matrix alongHeight{ofRows.data(), c.rows.points(), c.rows.tile};
    constexpr std::size_t kSquare = kLanes * kLanes;
    std::memset(rowsOfBatch, 0, sizeof rowsOfBatch);
    for (std::size_t panel = part.begin; panel < part.end; ++panel) {
      const Places places = placesOf(c, panel);
      const std::size_t firstRow = places.row * c.rows.tile;
      const std::size_t rows = std::min(c.rows.tile, c.rows.results - firstRow);
      std::memset(tile, 0, c.rows.tile * c.columns.tile * kSquare * sizeof(float));
      for (std::size_t j = 0; j < columns; ++j) {
        for (std::size_t i = 0; i < rows; ++i) {
          const T* from = gradient + (((firstColumn + j) * c.filters + firstFilter) * c.rows.results + firstRow + i) * c.batch + places.begin;
          for (std::size_t m = 0; m < filters; ++m, from += c.rows.results * c.batch) {
            Lanes<Bytes> lanes;
            lanes.load(from, places.count, 0);
            lanes.store(rowsOfBatch + m * kLanes);
          }
          transposeWords({rowsOfBatch, kLanes * sizeof(float), kLanes, kLanes}, reinterpret_cast<std::uint32_t*>(tile + (i * c.columns.tile + j) * kSquare), kLanes);
        }
      }
      for (std::size_t place = 0; place < kLanes; ++place) {
        for (std::size_t i = 0; i < c.rows.tile; ++i) {
          const float* const row = tile + i * c.columns.tile * kSquare + place * kLanes;
          apply<Bytes>(alongWidth, ReadRows{row, kSquare}, {buffer + i * width * kLanes, kLanes});
        }
        applyToColumns<Bytes>(alongHeight, buffer, width, {to + ((panel - part.begin) * kLanes + place) * kLanes, pointStride});
      }
    }
  }
};

// Floats between matrices that are written at the same time. Powers of two would let them share a few sets of the caches.
std::size_t spread(std::size_t floats) { return floats + kLanes + (floats / kLanes % 2 == 0 ? 0 : kLanes); }

}  // namespace

void weightsAtPoints(const ToomCook2d& c, const float* weights, bool isTransposed, std::size_t firstFilter, std::size_t endFilter, float* to) {
  thread_local AlignedFloats taps;
  const std::size_t perPair = c.rows.taps * c.columns.taps;
  const std::size_t count = endFilter - firstFilter;
  taps.resize(count * perPair * kLanes);
  alignas(64) float atPoints[kMostPoints * kMostPoints * kLanes];
  for (std::size_t first = 0; first < c.channels; first += kLanes) {
    const std::size_t lanes = std::min(kLanes, c.channels - first);
    std::fill_n(taps.data(), lanes < kLanes ? count * perPair * kLanes : 0, 0.0f);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      for (std::size_t m = 0; m < count; ++m) {
        const std::size_t channel = first + lane, filter = firstFilter + m;
        const float* const from = weights + (isTransposed ? channel * c.filters + filter : filter * c.channels + channel) * perPair;
        float* const own = taps.data() + m * perPair * kLanes + lane;
        for (std::size_t tap = 0; tap < perPair; ++tap) own[tap * kLanes] = from[isTransposed ? perPair - 1 - tap : tap];
      }
    }
    for (std::size_t m = 0; m < count; ++m) {
      float* const own = to + (firstFilter + m) * c.channels + first;
      const std::size_t pointStride = c.filters * c.channels;
      const bool isWhole = lanes == kLanes;
      runVectorised<TransformWeights>(c, taps.data() + m * perPair * kLanes, isWhole ? own : atPoints, isWhole ? pointStride : kLanes);
      for (std::size_t point = 0; !isWhole && point < c.points(); ++point) {
        std::copy_n(atPoints + point * kLanes, lanes, own + point * pointStride);
      }
    }
  }
}

template <typename T>
void convolvePart(const ToomCook2d& c, const T* image, const float* weightsAtPoints, const PanelRange& part, T* result) {
  // Filters whose products are computed before they are transformed: few, so that the products stay in the second-level cache.
  constexpr std::size_t kFilters = 16;
  thread_local AlignedFloats matrices, products;
  thread_local std::vector<const float*> panels;
  const std::size_t places = part.places();
  const std::size_t ofPanel = spread(c.channels * kLanes);
  const std::size_t ofPoint = spread(part.count() * ofPanel);
  const std::size_t ofProduct = spread(kFilters * places);
  matrices.resize(c.points() * ofPoint);
  products.resize(c.points() * ofProduct);
  panels.resize(part.count());
  for (std::size_t channel = 0; channel < c.channels; ++channel) {
    runVectorised<TransformImage>(c, image, part, channel, matrices.data() + channel * kLanes, ofPoint, ofPanel);
  }
  for (std::size_t first = 0; first < c.filters; first += kFilters) {
    const std::size_t count = std::min(kFilters, c.filters - first);
    const float* from[kFilters];
    float* to[kFilters];
    for (std::size_t point = 0; point < c.points(); ++point) {
      for (std::size_t panel = 0; panel < part.count(); ++panel) panels[panel] = matrices.data() + point * ofPoint + panel * ofPanel;
      for (std::size_t m = 0; m < count; ++m) {
        from[m] = weightsAtPoints + (point * c.filters + first + m) * c.channels;
        to[m] = products.data() + point * ofProduct + m * places;
      }
      multiplyPanels({panels.data(), part.count(), c.channels, from, nullptr, to, count});
    }
    for (std::size_t m = 0; m < count; ++m) {
      runVectorised<TransformResults>(c, products.data() + m * places, ofProduct, part, first + m, result);
    }
  }
}

template <typename T>
void imageAtPoints(const ToomCook2d& c, const T* image, const PanelRange& part, std::size_t channel, float* to) {
  const std::size_t ofPoint = spread(c.channels * part.places());
  runVectorised<TransformImage>(c, image, part, channel, to + channel * part.places(), ofPoint, kLanes);
}

template <typename T>
void gradientAtPoints(const ToomCook2d& c, const T* gradient, const PanelRange& part, std::size_t panel, float* to) {
  const std::size_t ofPanel = part.places() * kLanes;
  const std::size_t ofPoint = spread(c.panelsOfFilters() * ofPanel);
  const auto rows = transposed({c.rows.outputTransform, c.rows.tile, c.rows.points()});
  const auto columns = transposed({c.columns.outputTransform, c.columns.tile, c.columns.points()});
  runVectorised<TransformGradient>(c, rows, columns, gradient, part, panel, to + panel * ofPanel, ofPoint);
}

void addProducts(const ToomCook2d& c, const PlacesAtPoints& part, std::size_t point, std::size_t firstChannel, std::size_t endChannel, float* sums) {
  thread_local std::vector<const float*> from, panels;
  thread_local std::vector<float*> to;
  const std::size_t count = c.panelsOfFilters();
  const float* const gradient = part.gradient + point * spread(count * part.places * kLanes);
  const float* const image = part.image + point * spread(c.channels * part.places);
  panels.resize(count);
  for (std::size_t panel = 0; panel < count; ++panel) panels[panel] = gradient + panel * part.places * kLanes;
  from.resize(endChannel - firstChannel);
  to.resize(endChannel - firstChannel);
  for (std::size_t channel = firstChannel; channel < endChannel; ++channel) {
    from[channel - firstChannel] = image + channel * part.places;
    to[channel - firstChannel] = sums + (point * c.channels + channel) * count * kLanes;
  }
  multiplyPanels({panels.data(), count, part.places, from.data(), part.isFirst ? nullptr : to.data(), to.data(), to.size()});
}

void weightsFromPoints(const ToomCook2d& c, const float* sums, std::size_t firstChannel, std::size_t endChannel, float* weights) {
  alignas(64) float taps[kMostPoints * kMostPoints * kLanes];
  const std::size_t perPair = c.rows.taps * c.columns.taps;
  const std::size_t ofChannel = c.panelsOfFilters() * kLanes;
  const auto rows = transposed({c.rows.weightTransform, c.rows.points(), c.rows.taps});
  const auto columns = transposed({c.columns.weightTransform, c.columns.points(), c.columns.taps});
  for (std::size_t panel = 0; panel < c.panelsOfFilters(); ++panel) {
    const std::size_t first = panel * kLanes;
    for (std::size_t channel = firstChannel; channel < endChannel; ++channel) {
      runVectorised<TransformSums>(c, rows, columns, sums + channel * ofChannel + first, c.channels * ofChannel, taps);
      for (std::size_t m = first; m < std::min(c.filters, first + kLanes); ++m) {
        float* const own = weights + (m * c.channels + channel) * perPair;
        for (std::size_t tap = 0; tap < perPair; ++tap) own[tap] = taps[tap * kLanes + m - first];
      }
    }
  }
}

std::size_t floatsOfImage(const ToomCook2d& c, std::size_t places) { return c.points() * spread(c.channels * places); }
std::size_t floatsOfGradient(const ToomCook2d& c, std::size_t places) { return c.points() * spread(c.panelsOfFilters() * places * kLanes); }

template void convolvePart(const ToomCook2d&, const float*, const float*, const PanelRange&, float*);
template void convolvePart(const ToomCook2d&, const std::uint16_t*, const float*, const PanelRange&, std::uint16_t*);
template void imageAtPoints(const ToomCook2d&, const float*, const PanelRange&, std::size_t, float*);
template void imageAtPoints(const ToomCook2d&, const std::uint16_t*, const PanelRange&, std::size_t, float*);
template void gradientAtPoints(const ToomCook2d&, const float*, const PanelRange&, std::size_t, float*);
template void gradientAtPoints(const ToomCook2d&, const std::uint16_t*, const PanelRange&, std::size_t, float*);

#undef RINGRUN_INLINE

}  // namespace ringrun
