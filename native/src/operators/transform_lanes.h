#pragma once

#include <cstddef>

#include "operators/vectors.h"

namespace ringrun {

// Calls store(i, sum) with sum = Σ over j of matrix[i, j]·inputs[j], for every row of a matrix [rows, Columns]. The number of inputs
// is a compile-time constant, so that they stay in registers.
template <std::size_t Bytes, std::size_t Columns, typename Store>
inline __attribute__((always_inline)) void transformLanes(const float* matrix, std::size_t rows, const Lanes<Bytes> (&inputs)[Columns],
                                                          const Store& store) {
  for (std::size_t i = 0; i < rows; ++i, matrix += Columns) {
    Lanes<Bytes> sum{};
#pragma GCC unroll 9
    for (std::size_t j = 0; j < Columns; ++j) {
#pragma GCC unroll 4
      for (std::size_t v = 0; v < Lanes<Bytes>::kVectors; ++v) sum[v] += inputs[j][v] * matrix[j];
    }
    store(i, sum);
  }
}

}  // namespace ringrun
