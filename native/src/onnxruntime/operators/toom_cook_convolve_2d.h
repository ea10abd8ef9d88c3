#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "onnxruntime/scratch.h"
#include "operators/product/panels.h"
#include "operators/toom_cook_2d.h"

namespace ringrun::ort {

// Inputs 2 to 4 and 5 to 7 of both operators: input, output and weight transform of the height and of the width.
//
// Attributes: top, left (rows and columns of zeros before the image).
struct ToomCookPadding {
  std::int64_t top;
  std::int64_t left;

  explicit ToomCookPadding(const Attributes& attributes) : top(attributes.integer("top")), left(attributes.integer("left")) {
    if (top < 0 || left < 0) throw Error("expected padding of at least 0, got " + std::to_string(top) + " and " + std::to_string(left));
  }

  // `results` is the shape [O,M,R,N].
  ToomCook2d convolution(const Computation& computation, const Shape& images, const Shape& results) const {
    if (images.axes != 4 || results.axes != 4 || images.sizes[3] != results.sizes[3]) {
      throw Error("expected images and results with 4 axes and one batch, got " + describe(images) + " and " + describe(results));
    }
    ToomCook2d c;
    c.rows = axis(computation, 2, images.sizes[2], results.sizes[2], top);
    c.columns = axis(computation, 5, images.sizes[0], results.sizes[0], left);
    c.filters = size(results.sizes[1]);
    c.channels = size(images.sizes[1]);
    c.batch = size(images.sizes[3]);
    return c;
  }

  static std::size_t size(std::int64_t given) { return static_cast<std::size_t>(given); }

 private:
  static TiledAxis axis(const Computation& computation, std::size_t first, std::int64_t length, std::int64_t results, std::int64_t before) {
    const auto input = computation.input<float>(first);
    const auto output = computation.input<float>(first + 1);
    const auto weight = computation.input<float>(first + 2);
    const std::int64_t points = input.shape.sizes[0], tile = output.shape.sizes[0], taps = weight.shape.sizes[1];
    const bool fits = input.shape == Shape{2, {points, points}} && output.shape == Shape{2, {tile, points}} &&
                      weight.shape == Shape{2, {points, taps}} && tile > 0 && taps > 0 && points == tile + taps - 1 &&
                      points <= static_cast<std::int64_t>(ToomCook2d::kMostPoints) && results >= 0;
    if (!fits) {
      throw Error("expected the transforms of a tile, got " + describe(input.shape) + ", " + describe(output.shape) + " and " +
                  describe(weight.shape));
    }
    return {size(tile), size(taps), size(length), size(results), size(before), input.data, output.data, weight.data};
  }
};

// Inputs: images [W,C,H,N], weights [M,C,K,J], the transforms. Output: [O,M,R,N], with the attributes resultWidth (O) and
// resultHeight (R). With the attribute transposed = 1, the weights are [C,M,K,J] of the map whose transpose this operator computes.
template <typename T>
struct ToomCookConvolve2d {
  static constexpr const char* kName = "ToomCookConvolve2d";
  static constexpr std::array kInputs = {Argument{kTypeOf<T>}, Argument{kFloat32}, Argument{kFloat32}, Argument{kFloat32},
                                         Argument{kFloat32}, Argument{kFloat32}, Argument{kFloat32}, Argument{kFloat32}};
  static constexpr std::array kOutputs = {Argument{kTypeOf<T>}};

  explicit ToomCookConvolve2d(const Attributes& attributes)
      : padding_(attributes),
        resultWidth_(attributes.integer("resultWidth")),
        resultHeight_(attributes.integer("resultHeight")),
        isTransposed_(attributes.integer("transposed") != 0) {}

  void compute(Computation& computation) const {
    const auto images = computation.input<T>(0);
    const auto weights = computation.input<float>(1);
    if (weights.shape.axes != 4) throw Error("expected weights with 4 axes, got " + describe(weights.shape));
    const Shape results{4, {resultWidth_, weights.shape.sizes[isTransposed_ ? 1 : 0], resultHeight_, images.shape.sizes[3]}};
    const ToomCook2d c = padding_.convolution(computation, images.shape, results);
    const Shape expected{4,
                         {isTransposed_ ? images.shape.sizes[1] : results.sizes[1], isTransposed_ ? results.sizes[1] : images.shape.sizes[1],
                          static_cast<std::int64_t>(c.rows.taps), static_cast<std::int64_t>(c.columns.taps)}};
    if (weights.shape != expected) throw Error("expected weights " + describe(expected) + ", got " + describe(weights.shape));
    T* const to = computation.output<T>(0, results);
    const Scratch<float> atPoints(c.points() * c.filters * c.channels);
    float* const transformed = atPoints.data();
    computation.parallelFor((c.filters + kFilters - 1) / kFilters, [&](std::size_t block) {
      weightsAtPoints(c, weights.data, isTransposed_, block * kFilters, std::min(c.filters, (block + 1) * kFilters), transformed);
    });
    const std::size_t parts = (c.panels() + kPanels - 1) / kPanels;
    computation.parallelFor(c.columns.tiles() * parts, [&](std::size_t i) {
      const std::size_t begin = i % parts * kPanels;
      convolvePart(c, images.data, transformed, {i / parts, begin, std::min(c.panels(), begin + kPanels)}, to);
    });
  }

 private:
  static constexpr std::size_t kFilters = 8;
  static constexpr std::size_t kPanels = 8;  // of a part: 128 places

  ToomCookPadding padding_;
  std::int64_t resultWidth_;
  std::int64_t resultHeight_;
  bool isTransposed_;
};

// Inputs: images [W,C,H,N], the gradient of the results [O,M,R,N], of one type; the transforms. Output: the gradient of the
// weights, float32[M,C,K,J].
template <typename T>
struct ToomCookWeightGradient2d {
  static constexpr const char* kName = "ToomCookWeightGradient2d";
  static constexpr std::array kInputs = {Argument{kTypeOf<T>}, Argument{kTypeOf<T>}, Argument{kFloat32}, Argument{kFloat32},
                                         Argument{kFloat32}, Argument{kFloat32}, Argument{kFloat32}, Argument{kFloat32}};
  static constexpr std::array kOutputs = {Argument{kFloat32}};

  explicit ToomCookWeightGradient2d(const Attributes& attributes) : padding_(attributes) {}

  void compute(Computation& computation) const {
    const auto images = computation.input<T>(0);
    const auto gradient = computation.input<T>(1);
    const ToomCook2d c = padding_.convolution(computation, images.shape, gradient.shape);
    const auto integer = [](std::size_t size) { return static_cast<std::int64_t>(size); };
    float* const to = computation.output<float>(0, {4, {integer(c.filters), integer(c.channels), integer(c.rows.taps), integer(c.columns.taps)}});
    if (c.columns.tiles() * c.panels() == 0) {
      std::fill_n(to, c.filters * c.channels * c.rows.taps * c.columns.taps, 0.0f);
      return;
    }
    const std::size_t most = std::min(c.panels(), kPanels) * kLanes;
    const Scratch<float> image(floatsOfImage(c, most)), atPoints(floatsOfGradient(c, most));
    const Scratch<float> sums(c.points() * c.channels * c.panelsOfFilters() * kLanes);
    float* const ofImage = image.data();
    float* const ofGradient = atPoints.data();
    float* const ofWeights = sums.data();
    const std::size_t blocks = (c.channels + kChannels - 1) / kChannels;
    for (std::size_t column = 0; column < c.columns.tiles(); ++column) {
      for (std::size_t begin = 0; begin < c.panels(); begin += kPanels) {
        const PanelRange part{column, begin, std::min(c.panels(), begin + kPanels)};
        computation.parallelFor(c.channels + c.panelsOfFilters(), [&](std::size_t i) {
          if (i < c.channels) imageAtPoints(c, images.data, part, i, ofImage);
          else gradientAtPoints(c, gradient.data, part, i - c.channels, ofGradient);
        });
        const PlacesAtPoints atAll{ofImage, ofGradient, part.places(), column == 0 && begin == 0};
        computation.parallelFor(c.points() * blocks, [&](std::size_t i) {
          const std::size_t first = i % blocks * kChannels;
          addProducts(c, atAll, i / blocks, first, std::min(c.channels, first + kChannels), ofWeights);
        });
      }
    }
    computation.parallelFor((c.channels + kLanes - 1) / kLanes, [&](std::size_t i) {
      weightsFromPoints(c, ofWeights, i * kLanes, std::min(c.channels, (i + 1) * kLanes), to);
    });
  }

 private:
  static constexpr std::size_t kPanels = 16;    // of a part
  static constexpr std::size_t kChannels = 64;  // of sums that one thread computes at a time
  static constexpr std::size_t kLanes = 16;

  ToomCookPadding padding_;
};

}  // namespace ringrun::ort
