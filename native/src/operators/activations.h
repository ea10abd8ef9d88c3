#pragma once

#include "operators/vectors.h"

namespace ringrun {

#define RINGRUN_INLINE inline __attribute__((always_inline))

// x ← 1 / (1 + exp(−x))
template <std::size_t Bytes>
RINGRUN_INLINE void sigmoid(Lanes<Bytes>& x) {
  for (auto& vector : x.vectors) vector = -vector;
  exponentiate(x);
  for (auto& vector : x.vectors) vector = 1.0f / (1.0f + vector);
}

// x ← tanh(x). Near 0 the polynomial of Cephes' tanhf, because 1 − 2 / (exp(2x) + 1) would cancel.
template <std::size_t Bytes>
RINGRUN_INLINE void hyperbolicTangent(Lanes<Bytes>& x) {
  using Numbers = typename Lanes<Bytes>::Numbers;
  constexpr float kSmall = 0.625f;
  Lanes<Bytes> powers;
  for (std::size_t k = 0; k < x.kVectors; ++k) {
    const Numbers size = x[k] < 0.0f ? -x[k] : x[k];
    powers[k] = 2.0f * size;
  }
  exponentiate(powers);
  for (std::size_t k = 0; k < x.kVectors; ++k) {
    const Numbers v = x[k];
    const Numbers size = v < 0.0f ? -v : v;
    const Numbers large = 1.0f - 2.0f / (powers[k] + 1.0f);
    const Numbers square = v * v;
    Numbers p = square * -5.70498872745e-3f + 2.06390887954e-2f;
    p = p * square - 5.37397155531e-2f;
    p = p * square + 1.33314422036e-1f;
    p = p * square - 3.33332819422e-1f;
    const Numbers small = p * square * v + v;
    const Numbers signedLarge = v < 0.0f ? -large : large;
    x[k] = size < kSmall ? small : signedLarge;
  }
}

#undef RINGRUN_INLINE

}  // namespace ringrun
