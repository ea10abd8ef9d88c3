#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "onnxruntime/operators/rows.h"
#include "operators/layer_normalization.h"

namespace ringrun::ort {

// The rows that are normalized: the last axes of a shape.
struct NormalizedRows {
  std::size_t rows;
  std::size_t width;
  Shape statistics;  // mean and inverse of each row
  Shape weight;

  NormalizedRows(const Shape& shape, std::size_t axes) : rows(1), width(1) {
    if (axes > shape.axes) throw Error("expected at least " + std::to_string(axes) + " dimensions, got " + describe(shape));
    for (std::size_t axis = 0; axis < shape.axes; ++axis) {
      const bool isInner = axis >= shape.axes - axes;
      (isInner ? width : rows) *= static_cast<std::size_t>(shape.sizes[axis]);
      if (isInner) weight.sizes[weight.axes++] = shape.sizes[axis];
    }
    statistics = {2, {static_cast<std::int64_t>(rows), 2}};
  }
};

// Attributes of LayerNormalize and of AddLayerNormalize.
class LayerNormalization {
 public:
  explicit LayerNormalization(const Attributes& attributes)
      : axes_(static_cast<std::size_t>(attributes.integer("axes"))), epsilon_(attributes.number("epsilon")) {}

 protected:
  NormalizedRows rowsOf(const Shape& shape) const { return NormalizedRows(shape, axes_); }

  // Writes a row of `y` and `narrow` and, unless `saved` is null, its statistics.
  template <typename X>
  void normalize(const X* x, std::size_t row, std::size_t width, const float* weight, const float* bias, X* y, std::uint16_t* narrow,
                 float* saved) const {
    const RowStatistics statistics = statisticsOf(x, width, epsilon_);
    normalizeRow(x, width, statistics, weight, bias, elementsFrom(y, row * width), elementsFrom(narrow, row * width));
    if (saved == nullptr) return;
    saved[2 * row] = statistics.mean;
    saved[2 * row + 1] = statistics.inverse;
  }

 private:
  std::size_t axes_;
  float epsilon_;
};

// (x − mean) / √(variance + epsilon)·weight + bias, with mean and variance over the last axes.
//
// Inputs: x, optional weight and bias of the shape of the last axes. Outputs, each optional: the result; for the gradient, the
// mean and 1 / √(variance + epsilon) of each row, [rows,2]; the result in bfloat16. Attributes: axes, their number; epsilon.
template <typename X>
struct LayerNormalize : LayerNormalization {
  static constexpr const char* kName = "LayerNormalize";
  static constexpr std::array kInputs = {Argument{kTypeOf<X>}, Argument{kFloat32, kOptional}, Argument{kFloat32, kOptional}};
  static constexpr std::array kOutputs = {Argument{kTypeOf<X>, kOptional}, Argument{kFloat32, kOptional}, Argument{kBFloat16, kOptional}};
  static constexpr std::array kInPlace = {Sharing{0, 0}};

  using LayerNormalization::LayerNormalization;

  void compute(Computation& computation) const {
    const auto x = computation.input<X>(0);
    const NormalizedRows shape = rowsOf(x.shape);
    const float* const weight = computation.optionalInput<float>(1, shape.weight);
    const float* const bias = computation.optionalInput<float>(2, shape.weight);
    X* const y = computation.output<X>(0, x.shape);
    float* const saved = computation.output<float>(1, shape.statistics);
    auto* const narrow = computation.output<std::uint16_t>(2, x.shape);
    forEachRow(computation, shape.rows, shape.width, [&](std::size_t row) {
      normalize(x.data + row * shape.width, row, shape.width, weight, bias, y, narrow, saved);
    });
  }
};

// LayerNormalize of a + b, and the sum.
//
// Inputs: a; b, of the shape of a or of its last axes; optional weight and bias. Outputs: those of LayerNormalize; the sum.
// Attributes: those of LayerNormalize.
template <typename A, typename B>
struct AddLayerNormalize : LayerNormalization {
  using Sum = SumOf<A, B>;
  static constexpr const char* kName = "AddLayerNormalize";
  static constexpr std::array kInputs = {Argument{kTypeOf<A>}, Argument{kTypeOf<B>}, Argument{kFloat32, kOptional}, Argument{kFloat32, kOptional}};
  static constexpr std::array kOutputs = {Argument{kTypeOf<Sum>, kOptional}, Argument{kFloat32, kOptional}, Argument{kBFloat16, kOptional},
                                          Argument{kTypeOf<Sum>}};
  static constexpr std::array kInPlace = {Sharing{0, 3}, Sharing{1, 3}};

  using LayerNormalization::LayerNormalization;

  void compute(Computation& computation) const {
    const auto a = computation.input<A>(0);
    const NormalizedRows shape = rowsOf(a.shape);
    const auto b = computation.input<B>(1);
    if (b.count() == 0 ? a.count() != 0 : b.count() % shape.width != 0 || a.count() % b.count() != 0) {
      throw Error("expected an addend of whole rows of " + describe(a.shape) + ", got " + describe(b.shape));
    }
    const std::size_t rowsOfB = b.count() / std::max<std::size_t>(1, shape.width);
    const float* const weight = computation.optionalInput<float>(2, shape.weight);
    const float* const bias = computation.optionalInput<float>(3, shape.weight);
    Sum* const y = computation.output<Sum>(0, a.shape);
    float* const saved = computation.output<float>(1, shape.statistics);
    auto* const narrow = computation.output<std::uint16_t>(2, a.shape);
    Sum* const sum = computation.output<Sum>(3, a.shape);
    forEachRow(computation, shape.rows, shape.width, [&](std::size_t row) {
      const std::size_t at = row * shape.width;
      addRow(a.data + at, b.data + row % rowsOfB * shape.width, shape.width, sum + at);
      normalize(sum + at, row, shape.width, weight, bias, y, narrow, saved);
    });
  }
};

// Inputs: the gradient of the result, x, the statistics, optional weight, optional array that is added to the gradient of x.
// Outputs, each optional: the gradients of x, weight and bias; the gradient of x in bfloat16. Attributes: axes.
template <typename X, typename Y>
struct LayerNormalizeGradient {
  static constexpr const char* kName = "LayerNormalizeGradient";
  static constexpr std::array kInputs = {Argument{kTypeOf<Y>}, Argument{kTypeOf<X>}, Argument{kFloat32}, Argument{kFloat32, kOptional},
                                         Argument{kTypeOf<X>, kOptional}};
  static constexpr std::array kOutputs = {Argument{kTypeOf<X>, kOptional}, Argument{kFloat32, kOptional}, Argument{kFloat32, kOptional},
                                          Argument{kBFloat16, kOptional}};
  static constexpr std::array kInPlace = {Sharing{0, 0}, Sharing{4, 0}};

  explicit LayerNormalizeGradient(const Attributes& attributes) : axes_(static_cast<std::size_t>(attributes.integer("axes"))) {}

  void compute(Computation& computation) const {
    const auto x = computation.input<X>(1);
    const NormalizedRows shape(x.shape, axes_);
    const auto [rows, width] = std::pair(shape.rows, shape.width);
    const auto dy = computation.input<Y>(0, x.shape);
    const auto statistics = computation.input<float>(2, shape.statistics);
    const float* const weight = computation.optionalInput<float>(3, shape.weight);
    const X* const other = computation.optionalInput<X>(4, x.shape);
    X* const dx = computation.output<X>(0, x.shape);
    float* const dWeight = computation.output<float>(1, shape.weight);
    float* const dBias = computation.output<float>(2, shape.weight);
    auto* const narrow = computation.output<std::uint16_t>(3, x.shape);

    // Each part has its own sums over rows, which are added in the order of the parts, so bits do not depend on threads.
    const std::size_t parts = partsOf(rows, width);
    sums_.assign(2 * parts * width, 0);
    float* const sums = sums_.data();
    computation.parallelFor(parts, [&, rows = rows, width = width](std::size_t part) {
      float* const ofWeight = dWeight == nullptr ? nullptr : sums + 2 * part * width;
      float* const ofBias = dBias == nullptr ? nullptr : sums + (2 * part + 1) * width;
      for (std::size_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row) {
        const std::size_t at = row * width;
        const RowStatistics own{statistics.data[2 * row], statistics.data[2 * row + 1]};
        differentiateRow(RowGradient<X, Y>{dy.data + at, x.data + at, weight, width, own, elementsFrom(other, at), elementsFrom(dx, at),
                                           elementsFrom(narrow, at), ofWeight, ofBias});
      }
    });
    addParts(parts, width, sums, dWeight);
    addParts(parts, width, sums + width, dBias);
  }

 private:
  // Depends only on shapes. At least 4 parts, so that few long rows use several threads, and otherwise at most 2 MiB of sums.
  static std::size_t partsOf(std::size_t rows, std::size_t width) {
    const std::size_t useful = rows * width / kElementsOfPart + 1;
    const std::size_t affordable = std::max<std::size_t>(4, (std::size_t{1} << 18) / std::max<std::size_t>(1, width));
    return std::min({rows, useful, affordable});
  }

  void addParts(std::size_t parts, std::size_t width, const float* sums, float* to) const {
    if (to == nullptr) return;
    totals_.assign(width, 0);
    for (std::size_t part = 0; part < parts; ++part) {
      for (std::size_t i = 0; i < width; ++i) totals_[i] += sums[2 * part * width + i];
    }
    for (std::size_t i = 0; i < width; ++i) to[i] = static_cast<float>(totals_[i]);
  }

  std::size_t axes_;
  // Kept to reuse its memory in the next run.
  mutable std::vector<float> sums_;
  mutable std::vector<double> totals_;
};

}  // namespace ringrun::ort
