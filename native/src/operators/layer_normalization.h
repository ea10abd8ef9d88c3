#pragma once

#include <cstddef>

// Layer normalisation of one row: y = (x − mean)·inverse·weight + bias, and its gradients.

namespace ringrun {

struct RowStatistics {
  float mean;
  float inverse;  // 1 / √(variance + epsilon), of the biased variance
};

RowStatistics statisticsOf(const float* x, std::size_t count, float epsilon);

// `weight` and `bias` may be null: 1 and 0. `y` may be `x`.
void normalizeRow(const float* x, std::size_t count, const RowStatistics& statistics, const float* weight, const float* bias, float* y);

// Writes the gradient of x to `dx`, and adds those of weight and bias to `dWeight` and `dBias`, where these are not null.
// `dx` may be `dy`.
struct RowGradient {
  const float* dy;
  const float* x;
  const float* weight;  // null: 1
  std::size_t count;
  RowStatistics statistics;
  float* dx;
  float* dWeight;
  float* dBias;
};
void differentiateRow(const RowGradient& row);

}  // namespace ringrun
