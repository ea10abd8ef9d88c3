#pragma once

#include <cstring>

#include "reduce/kernels.h"

// One body for every vector width: it is inlined into functions that carry the instruction set as an attribute
// (kernels.cc), so that no flag is needed per file and no inline function of a library is compiled for a processor
// that may not be there.

namespace ringrun {

#define RINGRUN_INLINE inline __attribute__((always_inline))

// Sum of vectors of `Bytes` at one place of every input. Fixed counts let the compiler keep pointers in registers; 0:
// as many as the reduction says.
template <std::size_t Bytes, std::size_t Inputs, std::size_t Outputs>
RINGRUN_INLINE std::size_t sumVectors(const Reduction& r, std::size_t begin) {
  typedef float Vector __attribute__((vector_size(Bytes)));
  constexpr std::size_t kLanes = Bytes / sizeof(float);
  const std::size_t inputCount = Inputs != 0 ? Inputs : r.inputCount;
  const std::size_t outputCount = Outputs != 0 ? Outputs : r.outputCount;
  const auto* const* inputs = reinterpret_cast<const float* const*>(r.inputs);
  auto* const* outputs = reinterpret_cast<float* const*>(r.outputs);
  const bool divides = r.divisor != 1;
  const Vector divisor = static_cast<float>(r.divisor) - Vector{};
  std::size_t i = begin;
  for (; i + kLanes <= r.count; i += kLanes) {
    Vector sum;
    std::memcpy(&sum, inputs[0] + i, Bytes);
    for (std::size_t k = 1; k < inputCount; ++k) {
      Vector term;
      std::memcpy(&term, inputs[k] + i, Bytes);
      sum += term;
    }
    if (divides) sum /= divisor;
    for (std::size_t k = 0; k < outputCount; ++k) std::memcpy(outputs[k] + i, &sum, Bytes);
  }
  return i;
}

template <std::size_t Bytes, std::size_t Inputs, std::size_t Outputs>
RINGRUN_INLINE void sumRange(const Reduction& r) {
  const std::size_t done = sumVectors<Bytes, Inputs, Outputs>(r, 0);
  sumVectors<sizeof(float), Inputs, Outputs>(r, done);
}

template <std::size_t Bytes>
RINGRUN_INLINE void sumFloat32(const Reduction& r) {
  if (r.inputCount == 2 && r.outputCount == 1) return sumRange<Bytes, 2, 1>(r);
  if (r.inputCount == 2 && r.outputCount == 2) return sumRange<Bytes, 2, 2>(r);
  if (r.inputCount == 4 && r.outputCount == 4) return sumRange<Bytes, 4, 4>(r);
  return sumRange<Bytes, 0, 0>(r);
}

#undef RINGRUN_INLINE

}  // namespace ringrun
