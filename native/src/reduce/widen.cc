#include "reduce/widen.h"

#include "reduce/kernels.h"

namespace ringrun {

bool isReducedInFloat32(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }

void widen(DType dtype, const void* from, float* to, std::size_t count) {
  instructionSets().front().conversionFor(dtype).widen(static_cast<const std::uint16_t*>(from), to, count);
}

void narrow(DType dtype, const float* from, void* to, std::size_t count) {
  instructionSets().front().conversionFor(dtype).narrow(from, static_cast<std::uint16_t*>(to), count);
}

}  // namespace ringrun
