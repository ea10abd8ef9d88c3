#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "reduce/formats16.h"
#include "reduce/kernels.h"
#include "reduce/vectorised.h"

// Instruction sets: functions that differ only in their attribute, the width of the vectors, and the conversion
// instruction of float16. Each has
//
//   run<T, Operator>(reduction)     reduces elements of T
//   widen<Format>(from, to, count)  converts 16-bit elements to float32
//   narrow<Format>(from, to, count) converts them back
//   apply<Kernel>(arguments…)       runs Kernel::run<Bytes>(arguments…), for kernels with one body for every width
//
// Conversions are separate functions for many elements at once: unlike the bodies in vectorised.h they use
// intrinsics, which compilers inline only into functions with the instruction set's attribute.

namespace ringrun {

#define RINGRUN_INLINE inline __attribute__((always_inline))

// From element `begin`. Compilers vectorise the loops over bfloat16: shifts, additions and one selection.
template <typename Format>
RINGRUN_INLINE void widenOneByOne(const std::uint16_t* from, float* to, std::size_t begin, std::size_t count) {
  for (std::size_t i = begin; i < count; ++i) to[i] = Format::widened(from[i]);
}

template <typename Format>
RINGRUN_INLINE void narrowOneByOne(const float* from, std::uint16_t* to, std::size_t begin, std::size_t count) {
  for (std::size_t i = begin; i < count; ++i) to[i] = Format::narrowed(from[i]);
}

struct Plain {
  template <typename T, typename Operator>
  static void run(const Reduction& reduction) {
    reduceWithVectors<sizeof(T), T, Operator>(reduction);
  }

  template <typename Kernel, typename... Arguments>
  static void apply(Arguments... arguments) {
    Kernel::template run<sizeof(float)>(arguments...);
  }

  template <typename Format>
  static void widen(const std::uint16_t* from, float* to, std::size_t count) {
    widenOneByOne<Format>(from, to, 0, count);
  }

  template <typename Format>
  static void narrow(const float* from, std::uint16_t* to, std::size_t count) {
    narrowOneByOne<Format>(from, to, 0, count);
  }
};

#if defined(__x86_64__)

// Queries CPUID, because __builtin_cpu_supports needs the compiler's run-time library, which zig's lacks. Bits:
// Intel's Software Developer's Manual, volume 2A, CPUID.

enum class Register { Ebx, Ecx };

inline bool cpuHas(unsigned leaf, Register where, unsigned bits) {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(leaf, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  return ((where == Register::Ebx ? ebx : ecx) & bits) == bits;
}

// Register sets that the operating system saves when it switches threads (XCR0).
inline bool systemKeeps(std::uint64_t registers) {
  constexpr unsigned kOsxsave = 1u << 27;
  if (!cpuHas(1, Register::Ecx, kOsxsave)) return false;
  std::uint32_t low = 0, high = 0;
  asm("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return ((static_cast<std::uint64_t>(high) << 32 | low) & registers) == registers;
}

// 128-bit vectors are part of the x86-64 baseline; conversions of float16 are not.
struct Sse2 : Plain {
  template <typename T, typename Operator>
  static void run(const Reduction& reduction) {
    reduceWithVectors<16, T, Operator>(reduction);
  }

  template <typename Kernel, typename... Arguments>
  static void apply(Arguments... arguments) {
    Kernel::template run<16>(arguments...);
  }
};

// Rounds to nearest, ties to even, independent of the thread's rounding mode.
constexpr int kToNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

struct Avx2 {
#define RINGRUN_AVX2 __attribute__((target("avx2,f16c")))

  // Every processor with AVX2 has F16C, but a hypervisor may hide it.
  static bool isHere() {
    constexpr std::uint64_t kRegisters = 0x6;  // of 128 and 256 bits
    return cpuHas(1, Register::Ecx, 1u << 29) && cpuHas(7, Register::Ebx, 1u << 5) && systemKeeps(kRegisters);
  }

  template <typename T, typename Operator>
  RINGRUN_AVX2 static void run(const Reduction& reduction) {
    reduceWithVectors<32, T, Operator>(reduction);
  }

  template <typename Kernel, typename... Arguments>
  RINGRUN_AVX2 static void apply(Arguments... arguments) {
    Kernel::template run<32>(arguments...);
  }

  template <typename Format>
  RINGRUN_AVX2 static void widen(const std::uint16_t* from, float* to, std::size_t count) {
    std::size_t i = 0;
    if constexpr (std::is_same_v<Format, Float16>) {
      for (; i + 8 <= count; i += 8) {
        const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(bits));
      }
    }
    widenOneByOne<Format>(from, to, i, count);
  }

  template <typename Format>
  RINGRUN_AVX2 static void narrow(const float* from, std::uint16_t* to, std::size_t count) {
    std::size_t i = 0;
    if constexpr (std::is_same_v<Format, Float16>) {
      for (; i + 8 <= count; i += 8) {
        const __m128i bits = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), kToNearest);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), bits);
      }
    }
    narrowOneByOne<Format>(from, to, i, count);
  }

#undef RINGRUN_AVX2
};

struct Avx512 {
// BW: operations on bytes. DQ: 64-bit integer multiplication.
#define RINGRUN_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq")))

  static bool isHere() {
    constexpr std::uint64_t kRegisters = 0xe6;  // of 128, 256 and 512 bits, and masks
    return cpuHas(7, Register::Ebx, 1u << 16 | 1u << 17 | 1u << 30) && systemKeeps(kRegisters);
  }

  // GCC 12 warns about its own header in the forms without a mask (a deliberately uninitialised register).
  // Compilers remove this mask.
  static constexpr __mmask16 kAllLanes = 0xffff;

  template <typename T, typename Operator>
  RINGRUN_AVX512 static void run(const Reduction& reduction) {
    reduceWithVectors<64, T, Operator>(reduction);
  }

  template <typename Kernel, typename... Arguments>
  RINGRUN_AVX512 static void apply(Arguments... arguments) {
    Kernel::template run<64>(arguments...);
  }

  template <typename Format>
  RINGRUN_AVX512 static void widen(const std::uint16_t* from, float* to, std::size_t count) {
    std::size_t i = 0;
    if constexpr (std::is_same_v<Format, Float16>) {
      for (; i + 16 <= count; i += 16) {
        const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i));
        _mm512_storeu_ps(to + i, _mm512_maskz_cvtph_ps(kAllLanes, bits));
      }
    }
    widenOneByOne<Format>(from, to, i, count);
  }

  template <typename Format>
  RINGRUN_AVX512 static void narrow(const float* from, std::uint16_t* to, std::size_t count) {
    std::size_t i = 0;
    if constexpr (std::is_same_v<Format, Float16>) {
      for (; i + 16 <= count; i += 16) {
        const __m256i bits = _mm512_maskz_cvtps_ph(kAllLanes, _mm512_loadu_ps(from + i), kToNearest);
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), bits);
      }
    }
    narrowOneByOne<Format>(from, to, i, count);
  }

#undef RINGRUN_AVX512
};

#elif defined(__aarch64__)

// Part of the arm64 baseline, with float16 conversions, which use the thread's rounding mode: to nearest, ties
// to even.
struct Neon {
  template <typename T, typename Operator>
  static void run(const Reduction& reduction) {
    reduceWithVectors<16, T, Operator>(reduction);
  }

  template <typename Kernel, typename... Arguments>
  static void apply(Arguments... arguments) {
    Kernel::template run<16>(arguments...);
  }

  template <typename Format>
  static void widen(const std::uint16_t* from, float* to, std::size_t count) {
    std::size_t i = 0;
    if constexpr (std::is_same_v<Format, Float16>) {
      for (; i + 4 <= count; i += 4) vst1q_f32(to + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(from + i))));
    }
    widenOneByOne<Format>(from, to, i, count);
  }

  template <typename Format>
  static void narrow(const float* from, std::uint16_t* to, std::size_t count) {
    std::size_t i = 0;
    if constexpr (std::is_same_v<Format, Float16>) {
      for (; i + 4 <= count; i += 4) vst1_u16(to + i, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(from + i))));
    }
    narrowOneByOne<Format>(from, to, i, count);
  }
};

#endif

#undef RINGRUN_INLINE

}  // namespace ringrun
