#pragma once

#include <cstddef>
#include <cstdint>

// x·Φ(x), Φ the standard normal distribution by the error function, and its gradient. Arrays are float32 (float) or
// bfloat16 (std::uint16_t); computations are in float32. The forms by the hyperbolic tangent have (1 + tanh u) / 2 in the place of
// Φ(x), with u = √(2/π)·(x + 0.044715·x³).

namespace ringrun {

// `y` may be `x`.
template <typename T>
void gelu(const T* x, std::size_t count, T* y);

// dy·(Φ(x) + x·φ(x)), φ the density of Φ. `dx` may be `dy`.
template <typename T>
void geluGradient(const T* dy, const T* x, std::size_t count, T* dx);

template <typename T>
void tanhGelu(const T* x, std::size_t count, T* y);

template <typename T>
void tanhGeluGradient(const T* dy, const T* x, std::size_t count, T* dx);

}  // namespace ringrun
