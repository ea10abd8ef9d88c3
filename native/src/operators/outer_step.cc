#include "operators/outer_step.h"

#include "operators/vectors.h"
#include "operators/wide.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

struct SubtractFrom {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const float* from, float* values, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) values[i] = from[i] - values[i];
  }
};

struct Descend {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(float lr, const float* gradient, float* parameters, std::size_t count) {
    Wide<Bytes> parameter, direction;
    for (std::size_t i = 0; i < count; i += kWide) {
      parameter.load(parameters + i, count - i);
      direction.load(gradient + i, count - i);
      parameter.addProduct(direction, -static_cast<double>(lr));
      parameter.store(parameters + i, count - i);
    }
  }
};

struct DescendWithMomentum {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const OuterStepOptions& options, const float* gradient, float* velocities, float* parameters,
                                 std::size_t count) {
    const double momentum = static_cast<double>(options.momentum);
    Wide<Bytes> parameter, velocity, direction, before;
    for (std::size_t i = 0; i < count; i += kWide) {
      const std::size_t rest = count - i;
      before.load(velocities + i, rest);
      velocity.load(gradient + i, rest);
      velocity.addProduct(before, momentum);
      velocity.round();
      velocity.store(velocities + i, rest);
      if (options.nesterov) {
        direction.load(gradient + i, rest);
        direction.addProduct(velocity, momentum);
        direction.round();
      } else {
        direction = velocity;
      }
      parameter.load(parameters + i, rest);
      parameter.addProduct(direction, -static_cast<double>(options.lr));
      parameter.store(parameters + i, rest);
    }
  }
};

struct Mix {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const float* other, double share, double rest, float* values, std::size_t count) {
    Wide<Bytes> sum, own, common;
    for (std::size_t i = 0; i < count; i += kWide) {
      common.load(other + i, count - i);
      own.load(values + i, count - i);
      sum.clear();
      sum.addProduct(common, rest);
      sum.addProduct(own, share);
      sum.store(values + i, count - i);
    }
  }
};

#undef RINGRUN_INLINE

}  // namespace

void subtractFrom(const float* from, float* values, std::size_t count) { runVectorised<SubtractFrom>(from, values, count); }

void outerStep(const OuterStepOptions& options, const float* gradient, float* velocities, float* parameters, std::size_t count) {
  if (velocities == nullptr) {
    runVectorised<Descend>(options.lr, gradient, parameters, count);
  } else {
    runVectorised<DescendWithMomentum>(options, gradient, velocities, parameters, count);
  }
}

void mix(const float* other, float share, float* values, std::size_t count) {
  runVectorised<Mix>(other, static_cast<double>(share), static_cast<double>(1.0f - share), values, count);
}

}  // namespace ringrun
