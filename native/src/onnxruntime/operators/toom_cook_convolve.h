#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "operators/row_product.h"
#include "operators/toom_cook.h"

namespace ringrun::ort {

// What both operators read: the transforms (operators/toom_cook.h) and the window of a correlation.
//
// Attributes: before, after, left, right (rows and columns of zeros around the image), dilation (of the rows).
struct ToomCookWindow {
  std::int64_t before;
  std::int64_t after;
  std::int64_t left;
  std::int64_t right;
  std::int64_t dilation;

  explicit ToomCookWindow(const Attributes& attributes)
      : before(attributes.integer("before")),
        after(attributes.integer("after")),
        left(attributes.integer("left")),
        right(attributes.integer("right")),
        dilation(attributes.integer("dilation")) {}

  // Images [W,C,H,N]; the other sizes are those of the weights [M,C,K,J]. Inputs from `transforms`: input, output and weight
  // transform.
  ToomCookConvolution convolution(const Computation& computation, const Shape& images, std::int64_t filters, std::int64_t rowTaps, std::size_t transforms) const {
    const auto inputTransform = computation.input<float>(transforms);
    const auto outputTransform = computation.input<float>(transforms + 1);
    const auto weightTransform = computation.input<float>(transforms + 2);
    if (images.axes != 4 || inputTransform.shape.axes != 2 || outputTransform.shape.axes != 2 || weightTransform.shape.axes != 2) {
      throw Error("expected images with 4 axes and three matrices, got " + describe(images) + ", " + describe(inputTransform.shape) + ", " +
                  describe(outputTransform.shape) + " and " + describe(weightTransform.shape));
    }
    const auto [tile, points] = std::pair(outputTransform.shape.sizes[0], outputTransform.shape.sizes[1]);
    const std::int64_t columnTaps = weightTransform.shape.sizes[1];
    const std::int64_t resultWidth = images.sizes[0] + left + right - columnTaps + 1;
    const std::int64_t resultHeight = images.sizes[2] + before + after - (rowTaps - 1) * dilation;
    const bool fits = inputTransform.shape == Shape{2, {points, points}} && weightTransform.shape.sizes[0] == points &&
                      points == tile + columnTaps - 1 && tile > 0 && rowTaps > 0 && resultWidth >= 0 && resultHeight >= 0 &&
                      points <= static_cast<std::int64_t>(ToomCookConvolution::kMostPoints);
    if (!fits) {
      throw Error("transforms " + describe(outputTransform.shape) + " and " + describe(weightTransform.shape) + " do not fit images " + describe(images));
    }
    ToomCookConvolution made;
    made.tile = size(tile);
    made.points = size(points);
    made.inputTransform = inputTransform.data;
    made.outputTransform = outputTransform.data;
    made.weightTransform = weightTransform.data;
    made.filters = size(filters);
    made.channels = size(images.sizes[1]);
    made.rowTaps = size(rowTaps);
    made.columnTaps = size(columnTaps);
    made.width = size(images.sizes[0]);
    made.height = size(images.sizes[2]);
    made.resultWidth = size(resultWidth);
    made.resultHeight = size(resultHeight);
    made.batch = size(images.sizes[3]);
    made.dilation = size(dilation);
    made.before = static_cast<std::ptrdiff_t>(before);
    made.left = static_cast<std::ptrdiff_t>(left);
    return made;
  }

  static std::size_t size(std::int64_t given) { return static_cast<std::size_t>(given); }
};

// Inputs: images [W,C,H,N], weights [M,C,K,J], the three transforms. Output: [O,M,R,N]. With the attribute transposed = 1, the
// weights are [C,M,K,J] of the map whose transpose this is.
struct ToomCookConvolve {
  static constexpr const char* kName = "ToomCookConvolve";
  static constexpr std::array kInputs = {Argument{kFloat32}, Argument{kFloat32}, Argument{kFloat32}, Argument{kFloat32}, Argument{kFloat32}};
  static constexpr std::array kOutputs = {Argument{kFloat32}};

  explicit ToomCookConvolve(const Attributes& attributes) : window_(attributes), isTransposed_(attributes.integer("transposed") != 0) {}

  void compute(Computation& computation) const {
    const auto images = computation.input<float>(0);
    const auto weights = computation.input<float>(1);
    if (weights.shape.axes != 4) throw Error("expected weights with 4 axes, got " + describe(weights.shape));
    const auto& sizes = weights.shape.sizes;
    const ToomCookConvolution c = window_.convolution(computation, images.shape, sizes[isTransposed_ ? 1 : 0], sizes[2], 2);
    if (c.channels != window_.size(sizes[isTransposed_ ? 0 : 1]) || c.columnTaps != window_.size(sizes[3])) {
      throw Error("images " + describe(images.shape) + " do not fit weights " + describe(weights.shape));
    }
    float* const to = computation.output<float>(0, {4, {integer(c.resultWidth), integer(c.filters), integer(c.resultHeight), images.shape.sizes[3]}});
    thread_local AlignedFloats atPoints;
    atPoints.resize(c.points * c.filters * c.inner());
    float* const transformed = atPoints.data();
    computation.parallelFor((c.filters + kFilters - 1) / kFilters, [&](std::size_t block) {
      weightsAtPoints(c, weights.data, isTransposed_, block * kFilters, std::min(c.filters, (block + 1) * kFilters), transformed);
    });
    const std::size_t most = placesOfPart(c);
    const std::size_t parts = (c.places() + most - 1) / most;
    computation.parallelFor(c.tiles() * parts, [&](std::size_t i) {
      const std::size_t begin = i % parts * most;
      convolvePart(c, images.data, transformed, {i / parts, begin, std::min(c.places(), begin + most)}, to);
    });
  }

 private:
  static constexpr std::size_t kFilters = 8;

  // The matrices of a part have at most this many elements, half of a second-level cache of 1 MiB, unless the part would be
  // shorter than the reach of the taps, whose places each part transforms too. A product computes 48 columns at once.
  static std::size_t placesOfPart(const ToomCookConvolution& c) {
    constexpr std::size_t kElements = 1 << 17;
    constexpr std::size_t kColumns = 48;
    const std::size_t fitting = kElements / std::max<std::size_t>(1, c.points * c.inner());
    return std::max(kColumns, std::max(fitting, c.reach()) / kColumns * kColumns);
  }

  static std::int64_t integer(std::size_t size) { return static_cast<std::int64_t>(size); }

  ToomCookWindow window_;
  bool isTransposed_;
};

// Inputs: images [W,C,H,N], the gradient of the results [O,M,R,N], the three transforms. Output: the gradient of the weights,
// [M,C,K,J]. Attribute: rows (K).
struct ToomCookWeightGradient {
  static constexpr const char* kName = "ToomCookWeightGradient";
  static constexpr std::array kInputs = {Argument{kFloat32}, Argument{kFloat32}, Argument{kFloat32}, Argument{kFloat32}, Argument{kFloat32}};
  static constexpr std::array kOutputs = {Argument{kFloat32}};

  explicit ToomCookWeightGradient(const Attributes& attributes) : window_(attributes), rows_(attributes.integer("rows")) {}

  void compute(Computation& computation) const {
    const auto images = computation.input<float>(0);
    const auto gradient = computation.input<float>(1);
    if (gradient.shape.axes != 4) throw Error("expected a gradient with 4 axes, got " + describe(gradient.shape));
    const std::int64_t filters = gradient.shape.sizes[1];
    const ToomCookConvolution c = window_.convolution(computation, images.shape, filters, rows_, 2);
    const Shape expected{4, {integer(c.resultWidth), filters, integer(c.resultHeight), images.shape.sizes[3]}};
    if (gradient.shape != expected) throw Error("expected a gradient " + describe(expected) + ", got " + describe(gradient.shape));
    float* const to = computation.output<float>(0, {4, {filters, integer(c.channels), rows_, integer(c.columnTaps)}});
    if (c.tiles() * c.places() == 0) {
      std::fill_n(to, c.filters * c.inner() * c.columnTaps, 0.0f);
      return;
    }
    thread_local AlignedFloats image, atPoints, sums, lanes;
    const std::size_t most = std::min(c.places(), kPlaces);
    const bool isFew = c.hasFewWeights();
    const std::size_t panels = c.paddedFilters() / kLanes;
    image.resize(c.points * c.channels * (most + c.reach()));
    atPoints.resize(c.points * c.paddedFilters() * most);
    sums.resize(c.points * c.inner() * c.paddedFilters());
    if (isFew) lanes.resize(c.points * c.inner() * c.filters * kLanes);
    // Other threads have arrays of the same names.
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
