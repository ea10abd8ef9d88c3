#include "operators/joint_norm.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "operators/vectors.h"
#include "operators/wide.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

struct Squares {
  // Exact in double precision, so a fused multiply-add is bit-identical.
  template <typename D>
  static RINGRUN_INLINE void add(D& sum, const D& x) { sum += x * x; }
};

struct Magnitudes {
  template <typename D>
  static RINGRUN_INLINE void add(D& sum, const D& x) { sum += x < 0 ? -x : x; }
};

// 16 sums, each of every 16th element, are added in the order of Lanes::sum.
template <typename Term>
struct SumOf {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const float* x, std::size_t count, double& result) {
    using Doubles = typename WideVectors<Bytes>::Doubles;
    using Floats = typename WideVectors<Bytes>::Floats;
    constexpr std::size_t kWidth = Bytes / sizeof(double);
    constexpr std::size_t kVectors = kLanes / kWidth;
    Doubles sums[kVectors] = {};
    const auto add = [&](const float* from) __attribute__((always_inline)) {
      for (std::size_t k = 0; k < kVectors; ++k) {
        Floats floats;
        std::memcpy(&floats, from + k * kWidth, sizeof floats);
        const Doubles doubles = __builtin_convertvector(floats, Doubles);
        Term::add(sums[k], doubles);
      }
    };
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) add(x + i);
    if (i < count) {
      float rest[kLanes] = {};
      std::copy(x + i, x + count, rest);
      add(rest);
    }
    double lanes[kLanes];
    std::memcpy(lanes, sums, sizeof lanes);
    for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
      for (std::size_t k = 0; k < width; ++k) lanes[k] += lanes[k + width];
    }
    result = lanes[0];
  }
};

struct LargestMagnitude {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const float* x, std::size_t count, double& result) {
    // Magnitudes have the order of their bits, with NaN above infinity.
    constexpr std::uint32_t kMagnitude = 0x7fffffffu;
    std::uint32_t largest[kLanes] = {};
    std::size_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
      std::uint32_t bits[kLanes];
      std::memcpy(bits, x + i, sizeof bits);
      for (std::size_t k = 0; k < kLanes; ++k) largest[k] = std::max(largest[k], bits[k] & kMagnitude);
    }
    for (; i < count; ++i) {
      std::uint32_t bits;
      std::memcpy(&bits, x + i, sizeof bits);
      largest[0] = std::max(largest[0], bits & kMagnitude);
    }
    const std::uint32_t bits = *std::max_element(largest, largest + kLanes);
    float magnitude;
    std::memcpy(&magnitude, &bits, sizeof magnitude);
    result = static_cast<double>(magnitude);
  }
};

#undef RINGRUN_INLINE

double sumOfPowers(const float* x, std::size_t count, double p) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += std::pow(std::fabs(static_cast<double>(x[i])), p);
  return sum;
}

double largerOrNaN(double a, double b) { return std::isnan(a) || a > b ? a : b; }

}  // namespace

JointNorm::JointNorm(double p, const std::vector<Elements>& arrays) : p_(p) {
  for (const auto& [data, count] : arrays) {
    for (std::size_t begin = 0; begin < count; begin += kPartElements) {
      parts_.push_back({{data + begin, std::min(kPartElements, count - begin)}, 0});
    }
  }
}

void JointNorm::compute(std::size_t index) {
  auto& [elements, result] = parts_[index];
  const auto [data, count] = elements;
  if (p_ == 2) {
    runVectorised<SumOf<Squares>>(data, count, result);
  } else if (p_ == 1) {
    runVectorised<SumOf<Magnitudes>>(data, count, result);
  } else if (std::isinf(p_)) {
    runVectorised<LargestMagnitude>(data, count, result);
  } else {
    result = sumOfPowers(data, count, p_);
  }
}

std::vector<double> JointNorm::results() const {
  std::vector<double> all;
  for (const Part& part : parts_) all.push_back(part.result);
  return all;
}

double JointNorm::combine(double p, const std::vector<double>& results) {
  double total = 0;
  for (const double result : results) total = std::isinf(p) ? largerOrNaN(total, result) : total + result;
  if (p == 2) return std::sqrt(total);
  return p == 1 || std::isinf(p) ? total : std::pow(total, 1 / p);
}

}  // namespace ringrun
