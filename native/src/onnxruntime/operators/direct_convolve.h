#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "onnxruntime/scratch.h"
#include "operators/direct_convolution.h"
#include "operators/product/panels.h"

namespace ringrun::ort {

// Attributes of both operators: the window [strides, dilations, padding before] of the height, then of the width.
struct DirectWindow {
  std::vector<std::int64_t> strides, dilations, before;

  explicit DirectWindow(const Attributes& attributes)
      : strides(attributes.integers("strides")), dilations(attributes.integers("dilations")), before(attributes.integers("before")) {
    if (strides.size() != 2 || dilations.size() != 2 || before.size() != 2 || std::min({strides[0], strides[1], dilations[0], dilations[1]}) < 1 ||
        std::min(before[0], before[1]) < 0) {
      throw Error("expected two positive strides and dilations, and padding of at least 0");
    }
  }

  DirectConvolution convolution(const Shape& images, const Shape& results, std::int64_t rowTaps, std::int64_t columnTaps) const {
    if (images.axes != 4 || results.axes != 4 || images.sizes[3] != results.sizes[3]) {
      throw Error("expected images and results with 4 axes and one batch, got " + describe(images) + " and " + describe(results));
    }
    const auto size = [](std::int64_t given) { return static_cast<std::size_t>(given); };
    const auto axis = [&](std::size_t k, std::int64_t taps, std::int64_t length, std::int64_t ofResults) {
      return DirectAxis{size(taps), size(length), size(ofResults), size(strides[k]), size(dilations[k]), size(before[k])};
    };
    DirectConvolution c;
    c.rows = axis(0, rowTaps, images.sizes[2], results.sizes[2]);
    c.columns = axis(1, columnTaps, images.sizes[0], results.sizes[0]);
    c.filters = size(results.sizes[1]);
    c.channels = size(images.sizes[1]);
    c.batch = size(images.sizes[3]);
    return c;
  }
};

// Inputs: images bfloat16[W,C,H,N], weights float32[M,C,K,J]. Output: bfloat16[O,M,R,N], with the attributes resultWidth (O) and
// resultHeight (R). With the attribute transposed = 1, the weights are [C,M,K,J] of the map whose transpose this operator computes.
struct DirectConvolve {
  static constexpr const char* kName = "DirectConvolve";
  static constexpr std::array kInputs = {Argument{kBFloat16}, Argument{kFloat32}};
  static constexpr std::array kOutputs = {Argument{kBFloat16}};

  explicit DirectConvolve(const Attributes& attributes)
      : window_(attributes),
        resultWidth_(attributes.integer("resultWidth")),
        resultHeight_(attributes.integer("resultHeight")),
        isTransposed_(attributes.integer("transposed") != 0) {}

  void compute(Computation& computation) const {
    const auto images = computation.input<std::uint16_t>(0);
    const auto weights = computation.input<float>(1);
    const auto& sizes = weights.shape.sizes;
    if (images.shape.axes != 4 || weights.shape.axes != 4 || sizes[isTransposed_ ? 0 : 1] != images.shape.sizes[1]) {
      throw Error("images " + describe(images.shape) + " do not fit weights " + describe(weights.shape));
    }
    const Shape results{4, {resultWidth_, sizes[isTransposed_ ? 1 : 0], resultHeight_, images.shape.sizes[3]}};
    DirectConvolution c = window_.convolution(images.shape, results, sizes[2], sizes[3]);
    c.isTransposed = isTransposed_;
    std::uint16_t* const to = computation.output<std::uint16_t>(0, results);
    const Scratch<std::uint16_t> image(packedElements(c)), taps(c.taps() * c.filters * c.paddedChannels());
    std::uint16_t* const packed = image.data();
    std::uint16_t* const rounded = taps.data();
    computation.parallelFor(c.columns.size, [&](std::size_t column) { packColumn(c, images.data, column, packed); });
    computation.parallelFor(c.filters, [&](std::size_t filter) { packWeights(c, weights.data, filter, rounded); });
    const std::size_t rows = std::max<std::size_t>(1, kPanels / std::max<std::size_t>(1, c.panelsOfBatch())) * c.rowStep();
    const std::size_t blocks = (c.rows.results + rows - 1) / rows;
    computation.parallelFor(c.columns.results * blocks * c.rowStep(), [&](std::size_t i) {
      const std::size_t block = i % (blocks * c.rowStep());
      const std::size_t first = block / c.rowStep() * rows + block % c.rowStep();
      const std::size_t end = std::min(c.rows.results, (block / c.rowStep() + 1) * rows);
      if (first < end) convolvePart(c, packed, rounded, {i / (blocks * c.rowStep()), first, end}, to);
    });
  }

 private:
  static constexpr std::size_t kPanels = 12;  // of a part

  DirectWindow window_;
  std::int64_t resultWidth_;
  std::int64_t resultHeight_;
  bool isTransposed_;
};

// Inputs: images bfloat16[W,C,H,N], the gradient of the results bfloat16[O,M,R,N]. Output: the gradient of the weights,
// float32[M,C,K,J]. Attributes: rowTaps (K), columnTaps (J).
struct DirectWeightGradient {
  static constexpr const char* kName = "DirectWeightGradient";
  static constexpr std::array kInputs = {Argument{kBFloat16}, Argument{kBFloat16}};
  static constexpr std::array kOutputs = {Argument{kFloat32}};

  explicit DirectWeightGradient(const Attributes& attributes)
      : window_(attributes), rowTaps_(attributes.integer("rowTaps")), columnTaps_(attributes.integer("columnTaps")) {}

  void compute(Computation& computation) const {
    const auto images = computation.input<std::uint16_t>(0);
    const auto gradient = computation.input<std::uint16_t>(1);
    const DirectConvolution c = window_.convolution(images.shape, gradient.shape, rowTaps_, columnTaps_);
    float* const to = computation.output<float>(0, {4, {gradient.shape.sizes[1], images.shape.sizes[1], rowTaps_, columnTaps_}});
    const Scratch<std::uint16_t> panels(packedGradientElements(c));
    std::uint16_t* const packed = panels.data();
    computation.parallelFor(c.columns.results, [&](std::size_t column) { packGradientColumn(c, gradient.data, column, packed); });
    const std::size_t blocks = (c.channels + kChannels - 1) / kChannels;
    computation.parallelFor(c.taps() * blocks, [&](std::size_t i) {
      const std::size_t first = i % blocks * kChannels;
      weightGradientOfTap(c, images.data, packed, i / blocks, first, std::min(c.channels, first + kChannels), to);
    });
  }

 private:
  static constexpr std::size_t kChannels = 64;  // that one thread computes at a time

  DirectWindow window_;
  std::int64_t rowTaps_;
  std::int64_t columnTaps_;
};

}  // namespace ringrun::ort
