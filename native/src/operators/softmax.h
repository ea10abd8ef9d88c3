#pragma once

#include <cstddef>

// Softmax of one row of logits, as sums and products that need no array of their own.

namespace ringrun {

struct Exponentials {
  float largest;  // of the logits, ignoring NaN
  double sum;     // Σ exp(x − largest); NaN if a logit is NaN, or all are −∞, or one is ∞
};

Exponentials exponentialsOf(const float* logits, std::size_t count);

// to[i] = exp(logits[i] − largest)·scale. `to` may be `logits`.
void scaledExponentials(const float* logits, std::size_t count, float largest, float scale, float* to);

// Σ weights[i]·(largest − logits[i]), where `weights` may be null: 1.
double weightedDistances(const float* logits, std::size_t count, float largest, const float* weights);

}  // namespace ringrun
