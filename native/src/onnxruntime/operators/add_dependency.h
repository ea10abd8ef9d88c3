#pragma once

#include <algorithm>

#include "onnxruntime/operator.h"

namespace ringrun::ort {

// Inputs: a value, and arrays that must be computed before the output is read. Output: the value.
struct AddDependency {
  static constexpr const char* kName = "AddDependency";
  static constexpr std::array kInputs = {Argument{kFloat32}, Argument{kFloat32, kVariadic}};
  static constexpr std::array kOutputs = {Argument{kFloat32}};
  static constexpr std::array kInPlace = {Sharing{0, 0}};

  explicit AddDependency(const Attributes&) {}

  void compute(Computation& computation) const {
    const auto value = computation.input<float>(0);
    float* const copy = computation.output<float>(0, value.shape);
    if (copy != value.data) std::copy_n(value.data, value.count(), copy);
  }
};

}  // namespace ringrun::ort
