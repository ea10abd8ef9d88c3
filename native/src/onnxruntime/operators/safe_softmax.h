#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "onnxruntime/operator.h"
#include "onnxruntime/operators/rows.h"
#include "operators/softmax.h"

namespace ringrun::ort {

// exp x / Σ exp x over the last axis; 0 for a row whose elements are all −∞.
struct SafeSoftmax {
  static constexpr const char* kName = "SafeSoftmax";
  static constexpr std::array kInputs = {Argument{kFloat32}};
  static constexpr std::array kOutputs = {Argument{kFloat32}};
  static constexpr std::array kInPlace = {Sharing{0, 0}};

  explicit SafeSoftmax(const Attributes&) {}

  void compute(Computation& computation) const {
    const auto x = computation.input<float>(0);
    if (x.shape.axes == 0) throw Error("expected at least one dimension, got " + describe(x.shape));
    float* const y = computation.output<float>(0, x.shape);
    const auto width = static_cast<std::size_t>(x.shape.sizes[x.shape.axes - 1]);
    if (width == 0) return;
    forEachRow(computation, x.count() / width, width, [&](std::size_t row) {
      const float* const from = x.data + row * width;
      float* const to = y + row * width;
      const Exponentials exponentials = exponentialsOf(from, width);
      // `largest` ignores NaN.
      const bool isBlocked = exponentials.largest == -std::numeric_limits<float>::infinity() &&
                             std::none_of(from, from + width, [](float one) { return std::isnan(one); });
      if (isBlocked) {
        std::fill_n(to, width, 0.0f);
      } else {
        scaledExponentials(from, width, exponentials.largest, static_cast<float>(1 / exponentials.sum), to);
      }
    });
  }
};

}  // namespace ringrun::ort
