#pragma once

#include <cstddef>
#include <cstdint>

namespace ringrun {

// Columns that are summed at once.
constexpr std::size_t kColumnsOfSum = 256;

// to[j] = Σ x[i·stride + j] over the rows i, for `columns` ≤ kColumnsOfSum. Numbers are bfloat16, sums float32: of 64 rows in their
// order, then of these sums, so that rounding errors stay small.
void sumRows(const std::uint16_t* x, std::size_t rows, std::size_t stride, std::size_t columns, float* to);

}  // namespace ringrun
