#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "operators/joint_norm.h"

namespace ringrun::ort {

// What clips arrays to a norm. Inputs: the largest norm, a number; the arrays. Outputs, [] each: the norm of all arrays
// together; the factor that scales each of them, min(1, largest / (norm + 1e-6)). Attributes: normType, the p of the norm;
// requiresFinite: 1 to fail if the norm is NaN or infinite, behind writing it.
struct ClipNorm {
  static constexpr const char* kName = "ClipNorm";
  static constexpr std::array kInputs = {Argument{kFloat32}, Argument{kFloat32, kVariadic}};
  static constexpr std::array kOutputs = {Argument{kFloat32}, Argument{kFloat32}};

  explicit ClipNorm(const Attributes& attributes)
      : p_(static_cast<double>(attributes.number("normType"))), requiresFinite_(attributes.integer("requiresFinite") != 0) {}

  void compute(Computation& computation) const {
    const auto largest = static_cast<double>(computation.number(0));
    std::vector<JointNorm::Elements> arrays;
    for (std::size_t i = 1; i < computation.inputCount(); ++i) {
      const auto array = computation.input<float>(i);
      arrays.push_back({array.data, array.count()});
    }
    JointNorm joint(p_, arrays);
    computation.parallelFor(joint.parts(), [&](std::size_t part) { joint.compute(part); });
    const double norm = joint.norm();
    *computation.output<float>(0, Shape{}) = static_cast<float>(norm);
    if (requiresFinite_ && !std::isfinite(norm)) throw Error("expected a finite norm, got " + std::to_string(norm));
    // In the order of torch: NaN stays.
    const auto factor = static_cast<float>(largest / (norm + 1e-6));
    *computation.output<float>(1, Shape{}) = factor > 1 ? 1 : factor;
  }

 private:
  double p_;
  bool requiresFinite_;
};

}  // namespace ringrun::ort
