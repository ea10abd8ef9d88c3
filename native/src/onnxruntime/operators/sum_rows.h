#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "operators/sum_rows.h"

namespace ringrun::ort {

// The sum over all axes but the last. Input: bfloat16 […,N]. Output: float32 [N].
struct SumRows {
  static constexpr const char* kName = "SumRows";
  static constexpr std::array kInputs = {Argument{kBFloat16}};
  static constexpr std::array kOutputs = {Argument{kFloat32}};

  explicit SumRows(const Attributes&) {}

  void compute(Computation& computation) const {
    const auto x = computation.input<std::uint16_t>(0);
    if (x.shape.axes == 0) throw Error("expected at least one dimension, got " + describe(x.shape));
    const std::int64_t width = x.shape.sizes[x.shape.axes - 1];
    float* const to = computation.output<float>(0, {1, {width}});
    if (width == 0) return;
    const auto columns = static_cast<std::size_t>(width);
    computation.parallelFor((columns + kColumnsOfSum - 1) / kColumnsOfSum, [&](std::size_t part) {
      const std::size_t first = part * kColumnsOfSum;
      sumRows(x.data + first, x.count() / columns, columns, std::min(kColumnsOfSum, columns - first), to + first);
    });
  }
};

}  // namespace ringrun::ort
