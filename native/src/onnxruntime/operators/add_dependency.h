#pragma once

#include <algorithm>

#include "onnxruntime/operator.h"

namespace ringrun::ort {

// Inputs: a value, and arrays that must be computed before the output is read. Output: the value, in its memory.
template <typename T>
struct AddDependency {
  static constexpr const char* kName = "AddDependency";
  static constexpr std::array kInputs = {Argument{kTypeOf<T>}, Argument{kAnyType, kVariadic}};
  static constexpr std::array kOutputs = {Argument{kTypeOf<T>}};
  static constexpr std::array kAliases = {Sharing{0, 0}};

  explicit AddDependency(const Attributes&) {}

  void compute(Computation& computation) const {
    const auto value = computation.input<T>(0);
    T* const same = computation.output<T>(0, value.shape);
    if (same != value.data) std::copy_n(value.data, value.count(), same);
  }
};

// The value in memory of its own, for an output of a graph whose source other nodes read.
struct Copy {
  static constexpr const char* kName = "Copy";
  static constexpr std::array kInputs = {Argument{kFloat32}};
  static constexpr std::array kOutputs = {Argument{kFloat32}};

  explicit Copy(const Attributes&) {}

  void compute(Computation& computation) const {
    const auto value = computation.input<float>(0);
    std::copy_n(value.data, value.count(), computation.output<float>(0, value.shape));
  }
};

}  // namespace ringrun::ort
