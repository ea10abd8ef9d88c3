#include "operators/softmax.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

#include "operators/vectors.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Elements whose sum is in float32: at most 32 in each lane.
constexpr std::size_t kLogitsBlock = 512;

struct SumOfExponentials {
  // Writes the exponentials to `terms` unless it is null.
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const T* logits, std::size_t count, float* terms, Exponentials& to) {
    Lanes<Bytes> x, largest;
    largest.fill(-kInfinity);
    for (std::size_t i = 0; i < count; i += kLanes) {
      x.load(logits + i, count - i, -kInfinity);
      for (std::size_t k = 0; k < x.kVectors; ++k) largest[k] = x[k] > largest[k] ? x[k] : largest[k];
    }
    to.largest = largest.largest();
    to.sum = 0;
    for (std::size_t block = 0; block < count; block += kLogitsBlock) {
      const std::size_t end = std::min(count, block + kLogitsBlock);
      Lanes<Bytes> sums;
      sums.fill(0);
      for (std::size_t i = block; i < end; i += kLanes) {
        x.load(logits + i, end - i, -kInfinity);
        for (auto& vector : x.vectors) vector -= to.largest;
        exponentiate(x);
        for (std::size_t k = 0; k < x.kVectors; ++k) sums[k] += x[k];
        if (terms != nullptr) x.store(terms + i, end - i);
      }
      to.sum += sums.sum();
    }
  }
};

struct Scaled {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const float* from, std::size_t count, float scale, T* to) {
    Lanes<Bytes> x;
    for (std::size_t i = 0; i < count; i += kLanes) {
      x.load(from + i, count - i, 0);
      for (auto& vector : x.vectors) vector *= scale;
      x.store(to + i, count - i);
    }
  }
};

struct ScaledExponentials {
  template <std::size_t Bytes, typename T, typename To>
  static RINGRUN_INLINE void run(const T* logits, std::size_t count, float largest, float scale, To* to) {
    Lanes<Bytes> x;
    for (std::size_t i = 0; i < count; i += kLanes) {
      x.load(logits + i, count - i, 0);
      for (auto& vector : x.vectors) vector -= largest;
      exponentiate(x);
      for (auto& vector : x.vectors) vector *= scale;
      x.store(to + i, count - i);
    }
  }
};

struct WeightedDistances {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const T* logits, std::size_t count, float largest, const float* weights, double& to) {
    to = 0;
    Lanes<Bytes> x, w;
    w.fill(1);
    for (std::size_t block = 0; block < count; block += kLogitsBlock) {
      const std::size_t end = std::min(count, block + kLogitsBlock);
      Lanes<Bytes> sums;
      sums.fill(0);
      for (std::size_t i = block; i < end; i += kLanes) {
        x.load(logits + i, end - i, largest);
        if (weights != nullptr) w.load(weights + i, end - i, 0);
        for (std::size_t k = 0; k < x.kVectors; ++k) sums[k] += w[k] * (largest - x[k]);
      }
      to += sums.sum();
    }
  }
};

#undef RINGRUN_INLINE

}  // namespace

template <typename T>
Exponentials exponentialsOf(const T* logits, std::size_t count) {
  Exponentials result;
  runVectorised<SumOfExponentials>(logits, count, static_cast<float*>(nullptr), result);
  return result;
}

template <typename T>
void softmaxRow(const T* logits, std::size_t count, T* to) {
  thread_local std::vector<float> memory;
  float* terms;
  if constexpr (std::is_same_v<T, float>) {
    terms = to;
  } else {
    memory.resize(count);
    terms = memory.data();
  }
  Exponentials result;
  runVectorised<SumOfExponentials>(logits, count, terms, result);
  runVectorised<Scaled>(static_cast<const float*>(terms), count, static_cast<float>(1 / result.sum), to);
}

template <typename T, typename To>
void scaledExponentials(const T* logits, std::size_t count, float largest, float scale, To* to) {
  runVectorised<ScaledExponentials>(logits, count, largest, scale, to);
}

template <typename T>
double weightedDistances(const T* logits, std::size_t count, float largest, const float* weights) {
  double result = 0;
  runVectorised<WeightedDistances>(logits, count, largest, weights, result);
  return result;
}

#define RINGRUN_INSTANTIATE(T)                                                             \
  template Exponentials exponentialsOf(const T*, std::size_t);                             \
  template void softmaxRow(const T*, std::size_t, T*);                                     \
  template void scaledExponentials(const T*, std::size_t, float, float, T*);               \
  template double weightedDistances(const T*, std::size_t, float, const float*);
RINGRUN_INSTANTIATE(float)
RINGRUN_INSTANTIATE(std::uint16_t)
#undef RINGRUN_INSTANTIATE
template void scaledExponentials(const std::uint16_t*, std::size_t, float, float, float*);

}  // namespace ringrun
