#pragma once

#include <algorithm>

#include "onnxruntime/operator.h"

namespace ringrun::ort {

// Inputs: a value, and arrays that must be computed before the output is read. Output: the value.
template <typename T>
struct AddDependency {
  static constexpr const char* kName = "AddDependency";
  static constexpr std::array kInputs = {Argument{kTypeOf<T>}, Argument{kAnyType, kVariadic}};
  static constexpr std::array kOutputs = {Argument{kTypeOf<T>}};
  static constexpr std::array kInPlace = {Sharing{0, 0}};

  explicit AddDependency(const Attributes&) {}

  void compute(Computation& computation) const {
    const auto value = computation.input<T>(0);
    T* const copy = computation.output<T>(0, value.shape);
    if (copy != value.data) std::copy_n(value.data, value.count(), copy);
  }
};

}  // namespace ringrun::ort
