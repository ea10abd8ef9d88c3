#pragma once

#include <algorithm>
#include <array>
#include <limits>

#include "onnxruntime/operator.h"
#include "onnxruntime/operators/rows.h"
#include "operators/softmax.h"
#include "operators/vectors.h"

namespace ringrun::ort {

// exp x / Σ exp x over the last axis; for a row whose elements are all −∞, 0 if `isSafe`, else NaN.
template <typename T, bool isSafe>
struct SoftmaxOfRows {
  static constexpr std::array kInputs = {Argument{kTypeOf<T>}};
  static constexpr std::array kOutputs = {Argument{kTypeOf<T>}};
  static constexpr std::array kInPlace = {Sharing{0, 0}};

  explicit SoftmaxOfRows(const Attributes&) {}

  void compute(Computation& computation) const {
    const auto x = computation.input<T>(0);
    if (x.shape.axes == 0) throw Error("expected at least one dimension, got " + describe(x.shape));
    T* const y = computation.output<T>(0, x.shape);
    const auto width = static_cast<std::size_t>(x.shape.sizes[x.shape.axes - 1]);
    if (width == 0) return;
    forEachRow(computation, x.count() / width, width, [&](std::size_t row) {
      const T* const from = x.data + row * width;
      T* const to = y + row * width;
      const auto isBlocked = [](T one) { return numberOf(one) == -std::numeric_limits<float>::infinity(); };
      if (isSafe && std::all_of(from, from + width, isBlocked)) {
        std::fill_n(to, width, T{});
      } else {
        softmaxRow(from, width, to);
      }
    });
  }
};

template <typename T>
struct SafeSoftmax : SoftmaxOfRows<T, true> {
  static constexpr const char* kName = "SafeSoftmax";
  using SoftmaxOfRows<T, true>::SoftmaxOfRows;
};

template <typename T>
struct Softmax : SoftmaxOfRows<T, false> {
  static constexpr const char* kName = "Softmax";
  using SoftmaxOfRows<T, false>::SoftmaxOfRows;
};

}  // namespace ringrun::ort
