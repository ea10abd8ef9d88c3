#pragma once

#include <cstddef>

#include "base/operation.h"

namespace ringrun {

// float16 and bfloat16 are reduced in float32. An algorithm that passes partial results from rank to rank passes them
// as float32, or they would be rounded once per step.
bool isReducedInFloat32(DType dtype);

// `count` elements of a dtype for which that is so, to float32: exact.
void widen(DType dtype, const void* from, float* to, std::size_t count);

// And back: rounded to nearest, ties to even; beyond the largest number lies infinity, and a NaN stays one. The arrays
// of neither function overlap, and need no alignment beyond their elements'.
void narrow(DType dtype, const float* from, void* to, std::size_t count);

}  // namespace ringrun
