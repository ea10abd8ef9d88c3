#pragma once

#include <cstddef>
#include <vector>

// A matrix M [rows, columns] approximated by two thin factors, M ≈ P·Qᵀ with P [rows, rank] and Q [columns, rank], as PowerSGD
// computes them (Vogels et al. 2019). All are row-major.
//
// Products of two float32 numbers are exact in double precision. All sums are in double precision and in one order, and each
// result is rounded once to float32, so bits depend on neither the processor nor the width of its vectors: ranks on
// different processors compute the same factors.

namespace ringrun {

struct LowRankSizes {
  std::size_t rows;
  std::size_t columns;
  std::size_t rank;
};

// P = M·Q. With `error` [rows, columns], which may be null: error ← error + M, and P = error·Q. Reads M and the error once.
void leftFactor(const LowRankSizes& sizes, const float* matrix, float* error, const float* q, float* p);

// Q = Mᵀ·P. Reads M once.
void rightFactor(const LowRankSizes& sizes, const float* matrix, const float* p, float* q);

// M = P·Qᵀ. With `error`, which may be null: error ← error − M. Reads the error once.
void productOfFactors(const LowRankSizes& sizes, const float* p, const float* q, float* matrix, float* error);

// Orthonormalizes the columns of a factor [rows, columns] from left to right (modified Gram-Schmidt; each column is projected
// twice to remove rounding errors). A column that depends linearly on earlier columns becomes 0. Returns the indices of
// those. NaN is kept: it spreads to the later columns.
std::vector<std::size_t> orthonormalize(float* factor, std::size_t rows, std::size_t columns);

}  // namespace ringrun
