#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

// Float32 numbers that kernels compute in double precision, 8 at a time on every processor. Products of two of them are exact,
// so results are bit-identical with and without fused multiply-add.

namespace ringrun {

#define RINGRUN_INLINE inline __attribute__((always_inline))

// Elements that are computed at a time, in as many vectors as they need.
constexpr std::size_t kWide = 8;

// As many numbers in both precisions.
template <std::size_t Bytes>
struct WideVectors {
  typedef double Doubles __attribute__((vector_size(Bytes)));
  typedef float Floats __attribute__((vector_size(Bytes / 2)));
};

// 8 numbers in double precision.
template <std::size_t Bytes>
struct Wide {
  using Doubles = typename WideVectors<Bytes>::Doubles;
  using Floats = typename WideVectors<Bytes>::Floats;
  static constexpr std::size_t kWidth = Bytes / sizeof(double);
  static constexpr std::size_t kVectors = kWide / kWidth;

  Doubles vectors[kVectors];

  RINGRUN_INLINE void clear() {
    for (auto& vector : vectors) vector = Doubles{};
  }
  RINGRUN_INLINE void load(const float* from) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      Floats narrow;
      std::memcpy(&narrow, from + v * kWidth, sizeof narrow);
      vectors[v] = __builtin_convertvector(narrow, Doubles);
    }
  }
  // 0 after the first `count` elements.
  RINGRUN_INLINE void load(const float* from, std::size_t count) {
    if (count >= kWide) return load(from);
    float elements[kWide] = {};
    std::copy(from, from + count, elements);
    load(elements);
  }
  // Rounds to float32.
  RINGRUN_INLINE void store(float* to) const {
    for (std::size_t v = 0; v < kVectors; ++v) {
      const Floats narrow = __builtin_convertvector(vectors[v], Floats);
      std::memcpy(to + v * kWidth, &narrow, sizeof narrow);
    }
  }
  RINGRUN_INLINE void store(float* to, std::size_t count) const {
    if (count >= kWide) return store(to);
    float elements[kWide];
    store(elements);
    std::copy(elements, elements + count, to);
  }
  // To float32 numbers.
  RINGRUN_INLINE void round() {
    for (auto& vector : vectors) vector = __builtin_convertvector(__builtin_convertvector(vector, Floats), Doubles);
  }
  RINGRUN_INLINE void load(const double* from) {
    for (std::size_t v = 0; v < kVectors; ++v) std::memcpy(&vectors[v], from + v * kWidth, Bytes);
  }
  RINGRUN_INLINE void store(double* to) const {
    for (std::size_t v = 0; v < kVectors; ++v) std::memcpy(to + v * kWidth, &vectors[v], Bytes);
  }
  // The products of float32 numbers are exact, so a fused multiply-add is bit-identical.
  RINGRUN_INLINE void addProduct(const Wide& x, double factor) {
    for (std::size_t v = 0; v < kVectors; ++v) vectors[v] += x.vectors[v] * factor;
  }
  RINGRUN_INLINE void addProduct(const Wide& x, const Wide& y) {
    for (std::size_t v = 0; v < kVectors; ++v) vectors[v] += x.vectors[v] * y.vectors[v];
  }
  // ((0 + 4) + (2 + 6)) + …
  RINGRUN_INLINE double sum() const {
    double elements[kWide];
    store(elements);
    for (std::size_t width = kWide / 2; width > 0; width /= 2) {
      for (std::size_t i = 0; i < width; ++i) elements[i] += elements[i + width];
    }
    return elements[0];
  }
};

#undef RINGRUN_INLINE

}  // namespace ringrun
