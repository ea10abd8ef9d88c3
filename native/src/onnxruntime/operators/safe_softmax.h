#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "onnxruntime/operator.h"
#include "onnxruntime/operators/rows.h"
#include "operators/softmax.h"
#include "operators/vectors.h"

namespace ringrun::ort {

// exp x / Σ exp x over the last axis; 0 for a row whose elements are all −∞.
template <typename T>
struct SafeSoftmax {
  static constexpr const char* kName = "SafeSoftmax";
  static constexpr std::array kInputs = {Argument{kTypeOf<T>}};
  static constexpr std::array kOutputs = {Argument{kTypeOf<T>}};
  static constexpr std::array kInPlace = {Sharing{0, 0}};

  explicit SafeSoftmax(const Attributes&) {}

  void compute(Computation& computation) const {
    const auto x = computation.input<T>(0);
    if (x.shape.axes == 0) throw Error("expected at least one dimension, got " + describe(x.shape));
    T* const y = computation.output<T>(0, x.shape);
    const auto width = static_cast<std::size_t>(x.shape.sizes[x.shape.axes - 1]);
    if (width == 0) return;
    forEachRow(computation, x.count() / width, width, [&](std::size_t row) {
      const T* const from = x.data + row * width;
      T* const to = y + row * width;
      const Exponentials exponentials = exponentialsOf(from, width);
      // `largest` ignores NaN.
      const bool isBlocked = exponentials.largest == -std::numeric_limits<float>::infinity() &&
                             std::none_of(from, from + width, [](T one) { return std::isnan(numberOf(one)); });
      if (isBlocked) {
        std::fill_n(to, width, T{});
      } else {
        scaledExponentials(from, width, exponentials.largest, static_cast<float>(1 / exponentials.sum), to);
      }
    });
  }
};

}  // namespace ringrun::ort
