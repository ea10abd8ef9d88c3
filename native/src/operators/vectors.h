#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "reduce/formats16.h"
#include "reduce/instruction_sets.h"

// Kernels in float32 for the widest vectors of the processor. A kernel is a class with one body for every width:
//
//   struct Sum {
//     template <std::size_t Bytes>
//     static RINGRUN_INLINE void run(const float* x, std::size_t count, double& to);
//   };
//   runVectorised<Sum>(x, count, to);
//
// Bodies compute 16 elements at a time in Lanes<Bytes>, regardless of the width, and sum them in one order: a processor
// produces the same bits in every run. Processors without fused multiply-add may differ in the last one.

namespace ringrun {

#define RINGRUN_INLINE inline __attribute__((always_inline))

constexpr std::size_t kLanes = 16;

// 16-bit integers as the upper halves of the 32-bit integers of a vector of Bytes. `store` ignores the lower halves. g++ 12 has no
// conversion whose types depend on Bytes, and converts long vectors in parts, so those are shuffled.
template <std::size_t Bytes>
struct Halves;

#define RINGRUN_HALVES(bytes)                                              \
  template <>                                                              \
  struct Halves<bytes> {                                                   \
    typedef std::uint16_t Narrow __attribute__((vector_size(bytes / 2)));  \
    typedef std::uint32_t Wide __attribute__((vector_size(bytes)));        \
    static RINGRUN_INLINE void load(const std::uint16_t* from, Wide& to) { \
      Narrow halves;                                                       \
      std::memcpy(&halves, from, sizeof halves);                           \
      to = __builtin_convertvector(halves, Wide) << 16;                    \
    }                                                                      \
    static RINGRUN_INLINE void store(const Wide& from, std::uint16_t* to) { \
      const Narrow halves = __builtin_convertvector(from >> 16, Narrow);   \
      std::memcpy(to, &halves, sizeof halves);                             \
    }                                                                      \
  };
RINGRUN_HALVES(16)
#if defined(__x86_64__) && (defined(__clang__) || __GNUC__ >= 12)
template <>
struct Halves<32> {
  typedef std::uint16_t Narrow __attribute__((vector_size(16)));
  typedef std::uint16_t Pairs __attribute__((vector_size(32)));
  typedef std::uint32_t Wide __attribute__((vector_size(32)));
  static RINGRUN_INLINE void load(const std::uint16_t* from, Wide& to) {
    Narrow halves;
    std::memcpy(&halves, from, sizeof halves);
    const Pairs pairs = __builtin_shufflevector(halves, halves, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    std::memcpy(&to, &pairs, sizeof to);
    to &= 0xffff0000u;
  }
  static RINGRUN_INLINE void store(const Wide& from, std::uint16_t* to) {
    Pairs pairs;
    std::memcpy(&pairs, &from, sizeof pairs);
    const Narrow halves = __builtin_shufflevector(pairs, pairs, 1, 3, 5, 7, 9, 11, 13, 15);
    std::memcpy(to, &halves, sizeof halves);
  }
};
template <>
struct Halves<64> {
  typedef std::uint16_t Narrow __attribute__((vector_size(32)));
  typedef std::uint16_t Pairs __attribute__((vector_size(64)));
  typedef std::uint32_t Wide __attribute__((vector_size(64)));
  static RINGRUN_INLINE void load(const std::uint16_t* from, Wide& to) {
    Narrow halves;
    std::memcpy(&halves, from, sizeof halves);
    const Pairs pairs = __builtin_shufflevector(halves, halves, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15);
    std::memcpy(&to, &pairs, sizeof to);
    to &= 0xffff0000u;
  }
  static RINGRUN_INLINE void store(const Wide& from, std::uint16_t* to) {
    Pairs pairs;
    std::memcpy(&pairs, &from, sizeof pairs);
    const Narrow halves = __builtin_shufflevector(pairs, pairs, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    std::memcpy(to, &halves, sizeof halves);
  }
};
#else
RINGRUN_HALVES(32)
RINGRUN_HALVES(64)
#endif
#undef RINGRUN_HALVES

// One element of an array.
RINGRUN_INLINE float numberOf(float number) { return number; }
RINGRUN_INLINE float numberOf(std::uint16_t bits) { return BFloat16::widened(bits); }
RINGRUN_INLINE void setNumber(float& to, float number) { to = number; }
RINGRUN_INLINE void setNumber(std::uint16_t& to, float number) { to = BFloat16::narrowed(number); }

// 16 elements in as many vectors as they need. Functions take references, because passing vectors by value depends on the
// instruction set.
template <std::size_t Bytes>
struct Lanes {
  typedef float Numbers __attribute__((vector_size(Bytes)));
  typedef std::uint32_t Bits __attribute__((vector_size(Bytes)));
  typedef float Unaligned __attribute__((vector_size(Bytes), aligned(alignof(float)), may_alias));
  static constexpr std::size_t kVectors = kLanes * sizeof(float) / Bytes;

  Numbers vectors[kVectors];

  RINGRUN_INLINE Numbers& operator[](std::size_t k) { return vectors[k]; }
  RINGRUN_INLINE const Numbers& operator[](std::size_t k) const { return vectors[k]; }

  RINGRUN_INLINE void fill(float element) {
    float elements[kLanes];
    for (float& one : elements) one = element;
    load(elements);
  }
  // Each vector by itself: g++ 12 copies several of 32 bytes through memory, in halves, whose reload waits for the stores.
  RINGRUN_INLINE void load(const float* from) {
    for (std::size_t v = 0; v < kVectors; ++v) vectors[v] = reinterpret_cast<const Unaligned*>(from)[v];
  }
  RINGRUN_INLINE void store(float* to) const {
    for (std::size_t v = 0; v < kVectors; ++v) reinterpret_cast<Unaligned*>(to)[v] = vectors[v];
  }

  // The same in bfloat16, whose elements are std::uint16_t (reduce/formats16.h): the bits of BFloat16::widened and narrowed.
  RINGRUN_INLINE void load(const std::uint16_t* from) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      Bits bits;
      Halves<Bytes>::load(from + v * (kLanes / kVectors), bits);
      std::memcpy(&vectors[v], &bits, Bytes);
    }
  }
  RINGRUN_INLINE void store(std::uint16_t* to) const {
    for (std::size_t v = 0; v < kVectors; ++v) {
      Bits bits;
      round(vectors[v], bits);
      Halves<Bytes>::store(bits, to + v * (kLanes / kVectors));
    }
  }

  // To the numbers that `store` writes to an array of T.
  template <typename T>
  RINGRUN_INLINE void roundTo() {
    if constexpr (std::is_same_v<T, std::uint16_t>) {
      std::uint16_t elements[kLanes];
      store(elements);
      load(elements);
    }
  }
  // The bits of the nearest bfloat16 numbers, in the upper halves. NaN becomes quiet. The lower halves are arbitrary.
  static RINGRUN_INLINE void round(const Numbers& from, Bits& to) {
    Bits bits;
    std::memcpy(&bits, &from, Bytes);
    const Bits quiet = bits | 0x00400000u;
    const Bits rounded = bits + ((bits >> 16) & 1u) + 0x7fffu;
    to = from == from ? rounded : quiet;
  }
  // The same, in the lower halves.
  static RINGRUN_INLINE void narrow(const Numbers& from, Bits& to) {
    round(from, to);
    to >>= 16;
  }

  // At most kLanes elements, and `rest` in the other lanes.
  template <typename T>
  RINGRUN_INLINE void load(const T* from, std::size_t count, float rest) {
    if (count >= kLanes) return load(from);
    float elements[kLanes];
    for (std::size_t i = 0; i < kLanes; ++i) elements[i] = i < count ? numberOf(from[i]) : rest;
    load(elements);
  }
  template <typename T>
  RINGRUN_INLINE void store(T* to, std::size_t count) const {
    if (count >= kLanes) return store(to);
    T elements[kLanes];
    store(elements);
    for (std::size_t i = 0; i < count; ++i) to[i] = elements[i];
  }

  // In double precision: ((0 + 8) + (4 + 12)) + …
  RINGRUN_INLINE double sum() const {
    float elements[kLanes];
    store(elements);
    double sums[kLanes];
    for (std::size_t i = 0; i < kLanes; ++i) sums[i] = elements[i];
    for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
      for (std::size_t i = 0; i < width; ++i) sums[i] += sums[i + width];
    }
    return sums[0];
  }
  // Ignores NaN. Stays −∞ if all elements are NaN and `largest` started as −∞.
  RINGRUN_INLINE float largest() const {
    float elements[kLanes];
    store(elements);
    return *std::max_element(elements, elements + kLanes);
  }
};

// x ← exp(x), with an error of at most 1.01 ulp where the result is a normal number. NaN is kept; the results of infinities
// and subnormal results are correct too.
//
// exp(x) = 2ⁿ·exp(r) with n = round(x / ln 2); the polynomial is that of Cephes' expf.
template <std::size_t Bytes>
RINGRUN_INLINE void exponentiate(Lanes<Bytes>& x) {
  using Numbers = typename Lanes<Bytes>::Numbers;
  using Bits = typename Lanes<Bytes>::Bits;
  // Adding it to a small number leaves the nearest integer in the lowest bits.
  constexpr float kRounding = 12582912.0f;
  constexpr float kLog2OfE = 1.44269504088896341f;
  // ln 2 = kLn2 + kRestOfLn2, where n·kLn2 is exact.
  constexpr float kLn2 = 0.693359375f;
  constexpr float kRestOfLn2 = -2.12194440e-4f;
  // Below the first, exp(x) is less than half of the smallest subnormal number; above the second, it is infinite.
  constexpr float kLeast = -104.0f;
  constexpr float kMost = 89.0f;
  for (Numbers& vector : x.vectors) {
    Numbers v = vector;
    v = v < kLeast ? kLeast - Numbers{} : v;
    v = v > kMost ? kMost - Numbers{} : v;
    const Numbers shifted = v * kLog2OfE + kRounding;
    const Numbers n = shifted - kRounding;
    const Numbers r = (v - n * kLn2) - n * kRestOfLn2;
    Numbers p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * r) * r + r + 1.0f;
    // Two factors, because 2ⁿ itself may not be a normal number.
    Bits exponent;
    std::memcpy(&exponent, &shifted, sizeof exponent);
    exponent -= 0x4b400000u;  // the bit pattern of kRounding
    const Bits sign = exponent >> 31;
    const Bits half = (exponent >> 1) | (sign << 31);
    const Bits first = (half + 127u) << 23;
    const Bits second = (exponent - half + 127u) << 23;
    Numbers a, b;
    std::memcpy(&a, &first, sizeof a);
    std::memcpy(&b, &second, sizeof b);
    vector = (p * a) * b;
  }
}

#if defined(__x86_64__)
template <typename Kernel, typename... Arguments>
__attribute__((target("avx512f,avx512bw,avx512dq,fma"))) void runWithAvx512(Arguments&&... arguments) {
  Kernel::template run<64>(std::forward<Arguments>(arguments)...);
}

template <typename Kernel, typename... Arguments>
__attribute__((target("avx2,fma"))) void runWithAvx2(Arguments&&... arguments) {
  Kernel::template run<32>(std::forward<Arguments>(arguments)...);
}
#endif

#if defined(__x86_64__)
inline bool hasFma() { return cpuHas(1, Register::Ecx, 1u << 12); }
inline bool hasAvx512WithFma() { return hasFma() && Avx512::isHere(); }
inline bool hasAvx2WithFma() { return hasFma() && Avx2::isHere(); }
#endif

template <typename Kernel, typename... Arguments>
void runVectorised(Arguments&&... arguments) {
#if defined(__x86_64__)
  static const bool kHasAvx512 = hasAvx512WithFma();
  static const bool kHasAvx2 = hasAvx2WithFma();
  if (kHasAvx512) return runWithAvx512<Kernel>(std::forward<Arguments>(arguments)...);
  if (kHasAvx2) return runWithAvx2<Kernel>(std::forward<Arguments>(arguments)...);
#endif
  Kernel::template run<16>(std::forward<Arguments>(arguments)...);
}

#undef RINGRUN_INLINE

}  // namespace ringrun
