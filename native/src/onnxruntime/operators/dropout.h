#pragma once

#include <algorithm>
#include <array>

#include "onnxruntime/operator.h"
#include "onnxruntime/operators/rows.h"
#include "operators/dropout.h"

namespace ringrun::ort {

// Inputs: x; the key of the mask and its limit (operators/dropout.h), [2]; the scale, a number. Output: x with its mask.
template <typename T>
struct Dropout {
  static constexpr const char* kName = "Dropout";
  static constexpr std::array kInputs = {Argument{kTypeOf<T>}, Argument{kInt64}, Argument{kFloat32}};
  static constexpr std::array kOutputs = {Argument{kTypeOf<T>}};
  static constexpr std::array kInPlace = {Sharing{0, 0}};

  explicit Dropout(const Attributes&) {}

  void compute(Computation& computation) const {
    const auto x = computation.input<T>(0);
    const auto numbers = computation.input<std::int64_t>(1, {1, {2}});
    const DropoutMask mask{static_cast<std::uint64_t>(numbers.data[0]), static_cast<std::uint32_t>(numbers.data[1]), computation.number(2)};
    T* const y = computation.output<T>(0, x.shape);
    const std::size_t count = x.count();
    static_assert(kElementsOfPart % kDropoutBlock == 0);
    computation.parallelFor((count + kElementsOfPart - 1) / kElementsOfPart, [&](std::size_t part) {
      dropOut(mask, x.data, y, part * kElementsOfPart, std::min(count, (part + 1) * kElementsOfPart));
    });
  }
};

}  // namespace ringrun::ort
