#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "reduce/kernels.h"
#include "reduce/vectorised.h"

namespace ringrun {

// Elements widened at a time: two float32 blocks of 4 KiB fit into the L1 cache with the inputs and outputs.
// Half or twice as many are 10 to 20% slower.
constexpr std::size_t kWidenedBlock = 512;

// result ← (result ∘ term), with the float32 kernel.
template <typename Set, typename Operator>
void combineWidened(float* result, const float* term, std::size_t count) {
  const void* const inputs[] = {result, term};
  void* const outputs[] = {result};
  Set::template run<float, Operator>({inputs, 2, outputs, 1, count, 1});
}

template <typename Set>
void divideWidened(float* result, std::size_t count, std::size_t divisor) {
  const void* const inputs[] = {result};
  void* const outputs[] = {result};
  Set::template run<float, Sum>({inputs, 1, outputs, 1, count, divisor});
}

// Reduces 16-bit elements: widens to float32, reduces in the order of the inputs, and rounds once, at the end.
// An output that is also an input is written only after its block has been read.
template <typename Set, typename Format, typename Operator>
void reduceWidened(const Reduction& r) {
  alignas(64) float result[kWidenedBlock];
  alignas(64) float term[kWidenedBlock];
  const auto* const* inputs = reinterpret_cast<const std::uint16_t* const*>(r.inputs);
  auto* const* outputs = reinterpret_cast<std::uint16_t* const*>(r.outputs);
  for (std::size_t begin = 0; begin < r.count; begin += kWidenedBlock) {
    const std::size_t count = std::min(kWidenedBlock, r.count - begin);
    Set::template widen<Format>(inputs[0] + begin, result, count);
    for (std::size_t k = 1; k < r.inputCount; ++k) {
      Set::template widen<Format>(inputs[k] + begin, term, count);
      combineWidened<Set, Operator>(result, term, count);
    }
    if (r.divisor != 1) divideWidened<Set>(result, count, r.divisor);
    for (std::size_t k = 0; k < r.outputCount; ++k) Set::template narrow<Format>(result, outputs[k] + begin, count);
  }
}

}  // namespace ringrun
