#pragma once

#include <cstddef>
#include <cstdint>

// x·Φ(x), Φ the standard normal distribution by the error function, and its gradient. Arrays are float32 (float) or
// bfloat16 (std::uint16_t); computations are in float32.

namespace ringrun {

// `y` may be `x`.
template <typename T>
void gelu(const T* x, std::size_t count, T* y);

// dy·(Φ(x) + x·φ(x)), φ the density of Φ. `dx` may be `dy`.
template <typename T>
void geluGradient(const T* dy, const T* x, std::size_t count, T* dx);

}  // namespace ringrun
