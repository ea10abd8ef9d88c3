#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"

namespace ringrun::ort {

// Returns its input. Fails if an index is out of range; onnxruntime would count negative ones from the end.
//
// Attributes: least and count: indices are from `least` to `count` − 1, or `ignored` if `ignores` is 1.
struct CheckIndices {
  static constexpr const char* kName = "CheckIndices";
  static constexpr std::array kInputs = {Argument{kInt64}};
  static constexpr std::array kOutputs = {Argument{kInt64}};
  static constexpr std::array kInPlace = {Sharing{0, 0}};

  explicit CheckIndices(const Attributes& attributes)
      : least_(attributes.integer("least")), count_(attributes.integer("count")), ignores_(attributes.integer("ignores") != 0), ignored_(attributes.integer("ignored")) {}

  void compute(Computation& computation) const {
    const auto indices = computation.input<std::int64_t>(0);
    std::int64_t* const checked = computation.output<std::int64_t>(0, indices.shape);
    const std::size_t size = indices.count();
    for (std::size_t i = 0; i < size; ++i) {
      const std::int64_t index = indices.data[i];
      if ((index < least_ || index >= count_) && !(ignores_ && index == ignored_)) {
        // The node's name begins the error message.
        throw Error("got " + std::to_string(index) + " at index " + std::to_string(i));
      }
    }
    if (checked != indices.data) std::copy_n(indices.data, size, checked);
  }

 private:
  std::int64_t least_;
  std::int64_t count_;
  bool ignores_;
  std::int64_t ignored_;
};

}  // namespace ringrun::ort
