#pragma once

#include <cstddef>

#include "base/operation.h"

namespace ringrun {

// float16 and bfloat16 are reduced in float32. Algorithms that send partial results send them as float32, to
// round only once.
bool isReducedInFloat32(DType dtype);

// Converts `count` elements of such a dtype to float32; exact.
void widen(DType dtype, const void* from, float* to, std::size_t count);

// Converts back: rounds to nearest, ties to even; values beyond the largest number become infinity, and NaN
// remains NaN. For both functions: arrays must not overlap, and alignment is that of one element.
void narrow(DType dtype, const float* from, void* to, std::size_t count);

}  // namespace ringrun
