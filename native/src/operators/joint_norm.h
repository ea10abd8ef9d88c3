#pragma once

#include <cstddef>
#include <vector>

namespace ringrun {

// The p-norm of the elements of several arrays together, (Σ|x|ᵖ)^(1/p), or the largest |x| for p = ∞. NaN if an element is
// NaN, 0 without elements.
//
// It is computed in parts, on any threads. Sums are in double precision and in one order, so bits depend only on the arrays,
// not on threads and vectors, and for p = 1, 2 and ∞ not on the processor.
class JointNorm {
 public:
  // Elements of one array that are a part: a multiple of them begins the share of a rank (kPartElements of
  // packages/core/src/distributed-module.ts).
  static constexpr std::size_t kPartElements = std::size_t{1} << 15;

  struct Elements {
    const float* data;
    std::size_t count;
  };

  JointNorm(double p, const std::vector<Elements>& arrays);

  std::size_t parts() const { return parts_.size(); }
  // Call it once for each part, on any thread.
  void compute(std::size_t part);
  // Call it when all parts have been computed.
  double norm() const { return combine(p_, results()); }

  // The result of each part, in order, when it has been computed: the sum of powers, or the largest absolute value.
  std::vector<double> results() const;
  // The norm from the results of all parts.
  static double combine(double p, const std::vector<double>& results);

 private:
  struct Part {
    Elements elements;
    double result;
  };

  double p_;
  std::vector<Part> parts_;
};

}  // namespace ringrun
