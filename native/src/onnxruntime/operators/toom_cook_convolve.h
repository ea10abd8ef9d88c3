#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "onnxruntime/scratch.h"
#include "operators/row_product.h"
#include "operators/toom_cook.h"

namespace ringrun::ort {

// Inputs and attributes of both operators: the transforms (operators/toom_cook.h) and the window of a correlation.
//
// Attributes: before (rows of zeros before the image), dilation (of the rows), rowStride, columnStride, start (the column of the
// image that the first tile begins with).
struct ToomCookWindow {
  std::int64_t before;
  std::int64_t dilation;
  std::int64_t rowStride;
  std::int64_t columnStride;
  std::int64_t start;

  explicit ToomCookWindow(const Attributes& attributes)
      : before(attributes.integer("before")),
        dilation(attributes.integer("dilation")),
        rowStride(attributes.integer("rowStride")),
        columnStride(attributes.integer("columnStride")),
        start(attributes.integer("start")) {
    if (before < 0 || dilation < 1 || rowStride < 1 || columnStride < 1) {
      throw Error("expected a window with positive strides, got " + std::to_string(rowStride) + " and " + std::to_string(columnStride));
    }
  }

  struct Sizes {
    std::int64_t filters;
    std::int64_t rowTaps;
    std::int64_t resultWidth;
    std::int64_t resultHeight;
  };

  // Images [W,C,H,N]. Inputs 2 to 4 are the input, output and weight transform. With `isTransposed`, tiles of the image become
  // tiles of results that are columnStride times as wide.
  ToomCookConvolution convolution(const Computation& computation, const Shape& images, const Sizes& sizes, bool isTransposed) const {
    const auto inputTransform = computation.input<float>(2);
    const auto outputTransform = computation.input<float>(3);
    const auto weightTransform = computation.input<float>(4);
    if (images.axes != 4 || inputTransform.shape.axes != 2 || outputTransform.shape.axes != 2 || weightTransform.shape.axes != 2) {
      throw Error("expected images with 4 axes and three matrices, got " + describe(images) + ", " + describe(inputTransform.shape) + ", " +
                  describe(outputTransform.shape) + " and " + describe(weightTransform.shape));
    }
    const auto [points, span] = std::pair(inputTransform.shape.sizes[0], inputTransform.shape.sizes[1]);
    const std::int64_t tile = outputTransform.shape.sizes[0];
    const bool fits = outputTransform.shape.sizes[1] == points && weightTransform.shape.sizes[0] == points && points > 0 && span > 0 &&
                      tile > 0 && sizes.rowTaps > 0 && sizes.resultWidth >= 0 && sizes.resultHeight >= 0 &&
                      (!isTransposed || tile % columnStride == 0) && (rowStride == 1 || dilation == 1 || sizes.rowTaps == 1) &&
                      std::max({points, span, tile}) <= static_cast<std::int64_t>(ToomCookConvolution::kMostPoints);
    if (!fits) {
      throw Error("transforms " + describe(inputTransform.shape) + ", " + describe(outputTransform.shape) + " and " +
                  describe(weightTransform.shape) + " do not fit images " + describe(images));
    }
    ToomCookConvolution made;
    made.tile = size(tile);
    made.points = size(points);
    made.span = size(span);
    made.inputTransform = inputTransform.data;
    made.outputTransform = outputTransform.data;
    made.weightTransform = weightTransform.data;
    made.filters = size(sizes.filters);
    made.channels = size(images.sizes[1]);
    made.columnTaps = size(weightTransform.shape.sizes[1]);
    made.width = size(images.sizes[0]);
    made.height = size(images.sizes[2]);
    made.resultWidth = size(sizes.resultWidth);
    made.resultHeight = size(sizes.resultHeight);
    made.batch = size(images.sizes[3]);
    made.start = static_cast<std::ptrdiff_t>(start);
    made.advance = size(isTransposed ? tile / columnStride : tile * columnStride);
    made.kernelRows = made.rowTaps = size(sizes.rowTaps);
    made.resultRows = made.resultHeight;
    made.rowStride = size(rowStride);
    made.dilation = size(dilation);
    made.before = static_cast<std::ptrdiff_t>(before);
    return made;
  }

  static std::size_t size(std::int64_t given) { return static_cast<std::size_t>(given); }
};

// Inputs: images [W,C,H,N], weights [M,C,K,J], the three transforms. Output: [O,M,R,N], with the attributes resultWidth (O) and
// resultHeight (R). With the attribute transposed = 1, the weights are [C,M,K,J] of the map whose transpose this operator
// computes, and which has the window.
template <typename T>
struct ToomCookConvolve {
  static constexpr const char* kName = "ToomCookConvolve";
  static constexpr std::array kInputs = {Argument{kTypeOf<T>}, Argument{kFloat32}, Argument{kFloat32}, Argument{kFloat32}, Argument{kFloat32}};
  static constexpr std::array kOutputs = {Argument{kTypeOf<T>}};

  explicit ToomCookConvolve(const Attributes& attributes)
      : window_(attributes),
        resultWidth_(attributes.integer("resultWidth")),
        resultHeight_(attributes.integer("resultHeight")),
        isTransposed_(attributes.integer("transposed") != 0) {}

  void compute(Computation& computation) const {
    const auto images = computation.input<T>(0);
    const auto weights = computation.input<float>(1);
    if (weights.shape.axes != 4) throw Error("expected weights with 4 axes, got " + describe(weights.shape));
    const auto& sizes = weights.shape.sizes;
    const std::int64_t filters = sizes[isTransposed_ ? 1 : 0];
    const ToomCookConvolution c = window_.convolution(computation, images.shape, {filters, sizes[2], resultWidth_, resultHeight_}, isTransposed_);
    if (c.channels != window_.size(sizes[isTransposed_ ? 0 : 1]) || c.columnTaps != window_.size(sizes[3])) {
      throw Error("images " + describe(images.shape) + " do not fit weights " + describe(weights.shape));
    }
    T* const to = computation.output<T>(0, {4, {resultWidth_, filters, resultHeight_, images.shape.sizes[3]}});
    if (!isTransposed_) return convolve(computation, c, images.data, weights.data, to);
    for (std::size_t phase = 0; phase < c.rowStride; ++phase) {
      const ToomCookConvolution rows = transposedRows(c, phase);
      if (rows.rowTaps > 0) convolve(computation, rows, images.data, weights.data, to);
      else fillRows(computation, rows, to);
    }
  }

 private:
  static constexpr std::size_t kFilters = 8;

  void convolve(Computation& computation, const ToomCookConvolution& c, const T* images, const float* weights, T* to) const {
    const Scratch<float> atPoints(c.points * c.filters * c.inner());
    float* const transformed = atPoints.data();
    computation.parallelFor((c.filters + kFilters - 1) / kFilters, [&](std::size_t block) {
      weightsAtPoints(c, weights, isTransposed_, block * kFilters, std::min(c.filters, (block + 1) * kFilters), transformed);
    });
    const std::size_t most = placesOfPart(c);
    const std::size_t parts = (c.places() + most - 1) / most;
    computation.parallelFor(c.tiles() * parts, [&](std::size_t i) {
      const std::size_t begin = i % parts * most;
      convolvePart(c, images, transformed, {i / parts, begin, std::min(c.places(), begin + most)}, to);
    });
  }

  // Rows that no tap reaches are 0.
  static void fillRows(Computation& computation, const ToomCookConvolution& c, T* to) {
    computation.parallelFor(c.resultWidth, [&](std::size_t column) {
      for (std::size_t filter = 0; filter < c.filters; ++filter) {
        T* const own = to + (column * c.filters + filter) * c.resultHeight * c.batch;
        for (std::size_t i = 0; i < c.resultRows; ++i) std::fill_n(own + (c.firstRow + i * c.rowStep) * c.batch, c.batch, T{0});
      }
    });
  }

  // The matrices of a part have at most this many elements, half of a second-level cache of 1 MiB, unless the part would be
  // shorter than the reach of the taps, whose places each part transforms too. A product computes 48 columns at once.
  static std::size_t placesOfPart(const ToomCookConvolution& c) {
    constexpr std::size_t kElements = 1 << 17;
    constexpr std::size_t kColumns = 48;
    const std::size_t fitting = kElements / std::max<std::size_t>(1, c.points * c.inner());
    return std::max(kColumns, std::max(fitting, c.reach(0)) / kColumns * kColumns);
  }

  ToomCookWindow window_;
  std::int64_t resultWidth_;
  std::int64_t resultHeight_;
  bool isTransposed_;
};

// Inputs: images [W,C,H,N], the gradient of the results [O,M,R,N], the three transforms. Output: the gradient of the weights,
// [M,C,K,J]. Attribute: rows (K).
template <typename T>
struct ToomCookWeightGradient {
  static constexpr const char* kName = "ToomCookWeightGradient";
  static constexpr std::array kInputs = {Argument{kTypeOf<T>}, Argument{kTypeOf<T>}, Argument{kFloat32}, Argument{kFloat32}, Argument{kFloat32}};
  static constexpr std::array kOutputs = {Argument{kFloat32}};

  explicit ToomCookWeightGradient(const Attributes& attributes) : window_(attributes), rows_(attributes.integer("rows")) {}

  void compute(Computation& computation) const {
    const auto images = computation.input<T>(0);
    const auto gradient = computation.input<T>(1);
    if (gradient.shape.axes != 4) throw Error("expected a gradient with 4 axes, got " + describe(gradient.shape));
    const std::int64_t filters = gradient.shape.sizes[1];
    const auto& sizes = gradient.shape.sizes;
    const ToomCookConvolution c = window_.convolution(computation, images.shape, {filters, rows_, sizes[0], sizes[2]}, false);
    if (sizes[3] != images.shape.sizes[3]) {
      throw Error("images " + describe(images.shape) + " do not fit a gradient " + describe(gradient.shape));
    }
    float* const to = computation.output<float>(0, {4, {filters, integer(c.channels), rows_, integer(c.columnTaps)}});
    if (c.tiles() * c.places() == 0) {
      std::fill_n(to, c.filters * c.inner() * c.columnTaps, 0.0f);
      return;
    }
    const std::size_t most = std::min(c.places(), kPlaces);
    const bool isFew = c.hasFewWeights();
    const std::size_t panels = c.paddedFilters() / kLanes;
    const Scratch<float> image(c.points * c.channels * c.imageLength(most));
    const Scratch<float> atPoints(c.points * c.paddedFilters() * most);
    const Scratch<float> sums(c.points * c.inner() * c.paddedFilters());
    const Scratch<float> lanes(isFew ? c.points * c.inner() * c.filters * kLanes : 0);
    float* const ofImage = image.data();
    float* const ofGradient = atPoints.data();
    float* const ofWeights = sums.data();
    float* const ofLanes = lanes.data();
    const std::size_t blocks = isFew ? 1 : (c.inner() + kRows - 1) / kRows;
    for (std::size_t tile = 0; tile < c.tiles(); ++tile) {
      for (std::size_t begin = 0; begin < c.places(); begin += most) {
        const TilePart part{tile, begin, std::min(c.places(), begin + most)};
        computation.parallelFor(c.channels + (isFew ? c.filters : panels), [&](std::size_t i) {
          if (i < c.channels) imageAtPoints(c, images.data, part, i, ofImage);
          else if (isFew) gradientRowAtPoints(c, gradient.data, part, i - c.channels, ofGradient);
          else gradientAtPoints(c, gradient.data, part, i - c.channels, ofGradient);
        });
        const PartAtPoints atAll{ofImage, ofGradient, part.length(), tile == 0 && begin == 0};
        computation.parallelFor(c.points * blocks, [&](std::size_t i) {
          if (isFew) return addInnerProducts(c, atAll, i, ofLanes);
          const std::size_t row = i % blocks * kRows;
          addProducts(c, atAll, i / blocks, row, std::min(c.inner(), row + kRows), ofWeights);
        });
      }
    }
    if (isFew) computation.parallelFor(c.points, [&](std::size_t point) { sumLanes(c, ofLanes, point, ofWeights); });
    computation.parallelFor(c.channels, [&](std::size_t channel) { weightsFromPoints(c, ofWeights, channel, to); });
  }

 private:
  static constexpr std::size_t kLanes = 16;
  // Places of a part, and rows of sums that one thread computes at a time.
  static constexpr std::size_t kPlaces = 1024;
  static constexpr std::size_t kRows = 192;

  static std::int64_t integer(std::size_t size) { return static_cast<std::int64_t>(size); }

  ToomCookWindow window_;
  std::int64_t rows_;
};

}  // namespace ringrun::ort
