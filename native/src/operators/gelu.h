#pragma once

#include <cstddef>

// x·Φ(x), Φ the standard normal distribution by the error function, and its gradient.

namespace ringrun {

// `y` may be `x`.
void gelu(const float* x, std::size_t count, float* y);

// dy·(Φ(x) + x·φ(x)), φ the density of Φ. `dx` may be `dy`.
void geluGradient(const float* dy, const float* x, std::size_t count, float* dx);

}  // namespace ringrun
