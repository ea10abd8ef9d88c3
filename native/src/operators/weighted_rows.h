#pragma once

#include <cstddef>
#include <cstdint>

// Rows of a table, chosen by number.

namespace ringrun {

// to = Σ weights[i]·table[rows[i]] over `count` rows of `width` elements, in their order; `weights` may be null: 1.
void sumOfRows(const float* table, std::size_t width, const std::int64_t* rows, const float* weights, std::size_t count, float* to);

// to += scale·from
void addScaled(const float* from, float scale, std::size_t width, float* to);

// Σ a[i]·b[i] of float32 (float) or bfloat16 (std::uint16_t) numbers.
template <typename T>
float innerProduct(const T* a, const T* b, std::size_t width);

}  // namespace ringrun
