#pragma once

#include <cstddef>
#include <cstdint>

// Softmax of one row of logits, as sums and products that need no array of their own. Logits are
// float32 (float) or bfloat16 (std::uint16_t).

namespace ringrun {

struct Exponentials {
  float largest;  // of the logits, ignoring NaN
  double sum;     // Σ exp(x − largest); NaN if a logit is NaN, or all are −∞, or one is ∞
};

template <typename T>
Exponentials exponentialsOf(const T* logits, std::size_t count);

// to[i] = exp(logits[i] − largest) / sum: exponentials are computed once. `to` may be `logits`.
template <typename T>
void softmaxRow(const T* logits, std::size_t count, T* to);

// to[i] = exp(logits[i] − largest)·scale. `to` may be `logits`.
template <typename T, typename To>
void scaledExponentials(const T* logits, std::size_t count, float largest, float scale, To* to);

// Σ weights[i]·(largest − logits[i]), where `weights` may be null: 1.
template <typename T>
double weightedDistances(const T* logits, std::size_t count, float largest, const float* weights);

}  // namespace ringrun
