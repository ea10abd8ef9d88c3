#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "operators/joint_norm.h"

namespace ringrun::ort {

// The last step of both clipping operators: writes the norm and its factor.
struct ClipFactor {
  explicit ClipFactor(const Attributes& attributes)
      : p(static_cast<double>(attributes.number("normType"))), requiresFinite(attributes.integer("requiresFinite") != 0) {}

  void write(Computation& computation, double norm) const {
    const auto largest = static_cast<double>(computation.number(0));
    *computation.output<float>(0, Shape{}) = static_cast<float>(norm);
    if (requiresFinite && !std::isfinite(norm)) throw Error("expected a finite norm, got " + std::to_string(norm));
    // Computed in torch's order, so that NaN is kept.
    const auto factor = static_cast<float>(largest / (norm + 1e-6));
    *computation.output<float>(1, Shape{}) = factor > 1 ? 1 : factor;
  }

  double p;
  bool requiresFinite;
};

// Computes the norm of the arrays from input `first` on.
inline JointNorm jointNormOf(const Computation& computation, double p, std::size_t first) {
  std::vector<JointNorm::Elements> arrays;
  for (std::size_t i = first; i < computation.inputCount(); ++i) {
    const auto array = computation.input<float>(i);
    arrays.push_back({array.data, array.count()});
  }
  JointNorm joint(p, arrays);
  computation.parallelFor(joint.parts(), [&](std::size_t part) { joint.compute(part); });
  return joint;
}

// Clips arrays to a norm. Inputs: the maximum norm, a number; the arrays. Outputs, [] each: the norm of all arrays
// together; the factor that scales each of them, min(1, largest / (norm + 1e-6)). Attributes: normType, the p of the norm;
// requiresFinite: 1 to fail if the norm is NaN or infinite, after writing it.
struct ClipNorm {
  static constexpr const char* kName = "ClipNorm";
  static constexpr std::array kInputs = {Argument{kFloat32}, Argument{kFloat32, kVariadic}};
  static constexpr std::array kOutputs = {Argument{kFloat32}, Argument{kFloat32}};

  explicit ClipNorm(const Attributes& attributes) : factor_(attributes) {}

  void compute(Computation& computation) const {
    factor_.write(computation, jointNormOf(computation, factor_.p, 1).norm());
  }

 private:
  ClipFactor factor_;
};

// A rank's part of ClipNorm, for arrays whose parts are divided among the ranks. Inputs: arrays. Output, [2 · total]: for each
// part of all ranks' arrays its result in double precision, stored bitwise in two float32; zeros for parts of other ranks.
// Attributes: normType; parts: for each array the number of its first part; total.
struct NormParts {
  static constexpr const char* kName = "NormParts";
  static constexpr std::array kInputs = {Argument{kFloat32, kVariadic}};
  static constexpr std::array kOutputs = {Argument{kFloat32}};

  explicit NormParts(const Attributes& attributes)
      : p_(static_cast<double>(attributes.number("normType"))), firsts_(attributes.integers("parts")), total_(attributes.integer("total")) {}

  void compute(Computation& computation) const {
    if (firsts_.size() != computation.inputCount()) throw Error("expected a part for each array");
    const std::vector<double> results = jointNormOf(computation, p_, 0).results();
    std::vector<double> all(static_cast<std::size_t>(total_));
    auto result = results.begin();
    for (std::size_t i = 0; i < firsts_.size(); ++i) {
      const std::size_t count = computation.input<float>(i).count();
      auto part = static_cast<std::size_t>(firsts_[i]);
      for (std::size_t begin = 0; begin < count; begin += JointNorm::kPartElements) all.at(part++) = *result++;
    }
    std::memcpy(computation.output<float>(0, {1, {2 * total_}}), all.data(), all.size() * sizeof(double));
  }

 private:
  double p_;
  std::vector<std::int64_t> firsts_;
  std::int64_t total_;
};

// ClipNorm from all ranks' outputs of NormParts. Inputs: the maximum norm; [ranks, 2 · total]. Outputs and attributes: those
// of ClipNorm.
struct ClipNormOfParts {
  static constexpr const char* kName = "ClipNormOfParts";
  static constexpr std::array kInputs = {Argument{kFloat32}, Argument{kFloat32}};
  static constexpr std::array kOutputs = {Argument{kFloat32}, Argument{kFloat32}};

  explicit ClipNormOfParts(const Attributes& attributes) : factor_(attributes) {}

  void compute(Computation& computation) const {
    const auto gathered = computation.input<float>(1);
    const auto ranks = static_cast<std::size_t>(gathered.shape.sizes[0]);
    const std::size_t total = gathered.count() / ranks / 2;
    std::vector<double> results(total);
    std::vector<double> ofRank(total);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      std::memcpy(ofRank.data(), gathered.data + rank * 2 * total, total * sizeof(double));
      // Exact, because for each part all ranks but one have 0.
      for (std::size_t part = 0; part < total; ++part) results[part] += ofRank[part];
    }
    factor_.write(computation, JointNorm::combine(factor_.p, results));
  }

 private:
  ClipFactor factor_;
};

}  // namespace ringrun::ort
