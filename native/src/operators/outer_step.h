#pragma once

#include <cstddef>

// What local steps (DiLoCo) compute between two exchanges, in float32: each result is rounded once, products are exact. Bits are
// the same on all processors, because ranks compute the common parameters independently.

namespace ringrun {

struct OuterStepOptions {
  float lr;
  float momentum;
  bool nesterov;
};

// values ← from − values.
void subtractFrom(const float* from, float* values, std::size_t count);

// torch.optim.SGD.step of `parameters`. `velocities` is null without a momentum.
void outerStep(const OuterStepOptions& options, const float* gradient, float* velocities, float* parameters, std::size_t count);

// values ← share · values + (1 − share) · other.
void mix(const float* other, float share, float* values, std::size_t count);

}  // namespace ringrun
