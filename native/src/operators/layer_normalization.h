#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

// Layer normalisation of one row: y = (x − mean)·inverse·weight + bias, and its gradients. Arrays of
// activations are float32 (float) or bfloat16 (std::uint16_t).

namespace ringrun {

struct RowStatistics {
  float mean;
  float inverse;  // 1 / √(variance + epsilon), of the biased variance
};

template <typename X>
RowStatistics statisticsOf(const X* x, std::size_t count, float epsilon);

// `weight` and `bias` may be null: 1 and 0. `y` may be `x`. The result is also written to `narrow`, in bfloat16. `y` and
// `narrow` may be null.
template <typename X>
void normalizeRow(const X* x, std::size_t count, const RowStatistics& statistics, const float* weight, const float* bias, X* y, std::uint16_t* narrow);

// A sum is bfloat16 if both operands are.
template <typename A, typename B>
using SumOf = std::conditional_t<std::is_same_v<A, B>, A, float>;

// `to` may be `a` or `b`.
template <typename A, typename B>
void addRow(const A* a, const B* b, std::size_t count, SumOf<A, B>* to);

// Writes the gradient of x, plus `other`, to `dx` and `narrow`, and adds those of weight and bias to `dWeight` and `dBias`, where
// these are not null. `dx` may be `dy` or `other`.
template <typename X, typename Y>
struct RowGradient {
  const Y* dy;
  const X* x;
  const float* weight;  // null: 1
  std::size_t count;
  RowStatistics statistics;
  const X* other;  // null: 0
  X* dx;
  std::uint16_t* narrow;  // the gradient in bfloat16; null: not written
  float* dWeight;
  float* dBias;
};
template <typename X, typename Y>
void differentiateRow(const RowGradient<X, Y>& row);

}  // namespace ringrun
