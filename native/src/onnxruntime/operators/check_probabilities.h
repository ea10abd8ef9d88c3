#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <sstream>
#include <string>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"

namespace ringrun::ort {

// Returns its input. Fails if an element is not from 0 to 1.
struct CheckProbabilities {
  static constexpr const char* kName = "CheckProbabilities";
  static constexpr std::array kInputs = {Argument{kFloat32}};
  static constexpr std::array kOutputs = {Argument{kFloat32}};
  static constexpr std::array kInPlace = {Sharing{0, 0}};

  explicit CheckProbabilities(const Attributes&) {}

  void compute(Computation& computation) const {
    const auto given = computation.input<float>(0);
    float* const checked = computation.output<float>(0, given.shape);
    const std::size_t size = given.count();
    // Without a branch per element; NaN fails every comparison.
    bool is_valid = true;
    for (std::size_t i = 0; i < size; ++i) is_valid &= given.data[i] >= 0 && given.data[i] <= 1;
    if (!is_valid) {
      const float* const wrong = std::find_if(given.data, given.data + size, [](float one) { return !(one >= 0 && one <= 1); });
      // The node's name begins the error message.
      throw Error("got " + written(*wrong) + " at index " + std::to_string(wrong - given.data));
    }
    if (checked != given.data) std::copy_n(given.data, size, checked);
  }

 private:
  // Formatted like JavaScript, with six digits.
  static std::string written(float number) {
    if (std::isnan(number)) return "NaN";
    if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
    std::ostringstream text;
    text << number;
    return text.str();
  }
};

}  // namespace ringrun::ort
