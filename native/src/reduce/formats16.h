#pragma once

#include <cstdint>
#include <cstring>

// The two 16-bit floating-point formats, one element at a time in plain C++: the reference that the processor
// instructions (instruction_sets.h) match bit for bit. Widening to float32 is exact. Narrowing rounds to
// nearest, ties to even, and overflows to infinity. Both keep a NaN's sign and as much of its payload as fits,
// and make it quiet if the instructions do.

namespace ringrun {

#define RINGRUN_INLINE inline __attribute__((always_inline))

RINGRUN_INLINE std::uint32_t bitsOf(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

RINGRUN_INLINE float floatOf(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// IEEE 754 binary16: 1 bit of sign, 5 of exponent (bias 15), 10 of fraction.
struct Float16 {
  // float32's exponent has a bias of 127.
  static constexpr std::uint32_t kRebias = (127u - 15u) << 23;

  static RINGRUN_INLINE float widened(std::uint16_t bits) {
    const std::uint32_t sign = (bits & 0x8000u) << 16;
    const std::uint32_t magnitude = bits & 0x7fffu;
    if (magnitude > 0x7c00u) return floatOf(sign | 0x7fc00000u | magnitude << 13);
    if (magnitude == 0x7c00u) return floatOf(sign | 0x7f800000u);
    // Subnormal: a multiple of 2^-24, and normal in float32.
    if (magnitude < 0x0400u) return floatOf(sign | bitsOf(static_cast<float>(magnitude) * 0x1p-24f));
    return floatOf(sign | ((magnitude << 13) + kRebias));
  }

  static RINGRUN_INLINE std::uint16_t narrowed(float value) {
    const std::uint32_t sign = bitsOf(value) >> 16 & 0x8000u;
    const std::uint32_t magnitude = bitsOf(value) & 0x7fffffffu;
    return static_cast<std::uint16_t>(sign | narrowedMagnitude(magnitude));
  }

 private:
  static RINGRUN_INLINE std::uint32_t narrowedMagnitude(std::uint32_t magnitude) {
    if (magnitude > 0x7f800000u) return 0x7e00u | (magnitude >> 13 & 0x03ffu);
    // From 65,520, halfway between the largest float16 and the next value.
    if (magnitude >= 0x477ff000u) return 0x7c00u;
    // Below 2^-14. The unit in the last place of floats from 0.5 is 2^-24, as for subnormals: the addition
    // rounds correctly.
    if (magnitude < 0x38800000u) return bitsOf(floatOf(magnitude) + 0.5f) - bitsOf(0.5f);
    // A carry out of the fraction correctly increments the exponent.
    const std::uint32_t isOdd = magnitude >> 13 & 1u;
    return (magnitude - kRebias + 0x0fffu + isOdd) >> 13;
  }
};

// The upper half of a float32: 1 bit of sign, 8 of exponent, 7 of fraction.
struct BFloat16 {
  static RINGRUN_INLINE float widened(std::uint16_t bits) { return floatOf(static_cast<std::uint32_t>(bits) << 16); }

  static RINGRUN_INLINE std::uint16_t narrowed(float value) {
    const std::uint32_t bits = bitsOf(value);
    const std::uint32_t isOdd = bits >> 16 & 1u;
    const std::uint32_t rounded = bits + 0x7fffu + isOdd;
    // A payload only in the lower half would become an infinity, and a carry could change the sign or exponent.
    const std::uint32_t quiet = bits | 0x00400000u;
    return static_cast<std::uint16_t>(((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded) >> 16);
  }
};

#undef RINGRUN_INLINE

}  // namespace ringrun
