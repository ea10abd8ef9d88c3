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

// (x − mean) / √(variance + epsilon)·weight + bias, with mean and variance over the last axes.
//
// Inputs: x, optional weight and bias of the shape of the last axes. Outputs: the result; for the gradient, the mean and
// 1 / √(variance + epsilon) of each row, [rows,2]. Attributes: axes, their number; epsilon.
struct LayerNormalize {
  static constexpr const char* kName = "LayerNormalize";
  static constexpr std::array kInputs = {Argument{kFloat32}, Argument{kFloat32, kOptional}, Argument{kFloat32, kOptional}};
  static constexpr std::array kOutputs = {Argument{kFloat32}, Argument{kFloat32, kOptional}};
  static constexpr std::array kInPlace = {Sharing{0, 0}};

  explicit LayerNormalize(const Attributes& attributes)
      : axes_(static_cast<std::size_t>(attributes.integer("axes"))), epsilon_(attributes.number("epsilon")) {}

  void compute(Computation& computation) const {
    const auto x = computation.input<float>(0);
    const NormalizedRows shape(x.shape, axes_);
    const float* const weight = computation.optionalInput<float>(1, shape.weight);
    const float* const bias = computation.optionalInput<float>(2, shape.weight);
    float* const y = computation.output<float>(0, x.shape);
    float* const saved = computation.output<float>(1, shape.statistics);
    forEachRow(computation, shape.rows, shape.width, [&](std::size_t row) {
      const float* const from = x.data + row * shape.width;
      const RowStatistics statistics = statisticsOf(from, shape.width, epsilon_);
      normalizeRow(from, shape.width, statistics, weight, bias, y + row * shape.width);
      if (saved == nullptr) return;
      saved[2 * row] = statistics.mean;
      saved[2 * row + 1] = statistics.inverse;
    });
  }

 private:
  std::size_t axes_;
  float epsilon_;
};

// Inputs: the gradient of the result, x, the statistics, optional weight. Outputs, each optional: the gradients of x,
// weight and bias. Attributes: axes.
struct LayerNormalizeGradient {
  static constexpr const char* kName = "LayerNormalizeGradient";
  static constexpr std::array kInputs = {Argument{kFloat32}, Argument{kFloat32}, Argument{kFloat32}, Argument{kFloat32, kOptional}};
  static constexpr std::array kOutputs = {Argument{kFloat32, kOptional}, Argument{kFloat32, kOptional}, Argument{kFloat32, kOptional}};
  static constexpr std::array kInPlace = {Sharing{0, 0}};

  explicit LayerNormalizeGradient(const Attributes& attributes) : axes_(static_cast<std::size_t>(attributes.integer("axes"))) {}

  void compute(Computation& computation) const {
    const auto x = computation.input<float>(1);
    const NormalizedRows shape(x.shape, axes_);
    const auto [rows, width] = std::pair(shape.rows, shape.width);
    const auto dy = computation.input<float>(0, x.shape);
    const auto statistics = computation.input<float>(2, shape.statistics);
    const float* const weight = computation.optionalInput<float>(3, shape.weight);
    float* const dx = computation.output<float>(0, x.shape);
    float* const dWeight = computation.output<float>(1, shape.weight);
    float* const dBias = computation.output<float>(2, shape.weight);

    // Each part has its own sums over rows, which are added in the order of the parts, so bits do not depend on threads.
    const std::size_t parts = partsOf(rows, width);
    sums_.assign(2 * parts * width, 0);
    float* const sums = sums_.data();
    computation.parallelFor(parts, [&, rows = rows, width = width](std::size_t part) {
      float* const ofWeight = dWeight == nullptr ? nullptr : sums + 2 * part * width;
      float* const ofBias = dBias == nullptr ? nullptr : sums + (2 * part + 1) * width;
      for (std::size_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row) {
        differentiateRow({dy.data + row * width, x.data + row * width, weight, width,
                          {statistics.data[2 * row], statistics.data[2 * row + 1]},
                          elementsFrom(dx, row * width), ofWeight, ofBias});
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
