#if defined(__x86_64__)

#include <cpuid.h>

#include <cstring>
#include <type_traits>

#include "operators/product/panels.h"
#include "operators/product/vector_kernels.h"
#include "operators/vectors.h"

#define RINGRUN_PAIRS "avx512f,avx512bw,avx512dq,fma,avx512bf16"

#if defined(__clang__)
// clang compares the operands of assembler with the instruction set of the function around them, before it inlines that function:
// those of the blocks need the attribute too. g++ would not inline them then.
#pragma clang attribute push(__attribute__((target(RINGRUN_PAIRS))), apply_to = function)
#endif

#include "operators/product/blocks.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

// Adds the products of pairs. In assembler, because compilers inline intrinsics only into functions with their attribute.
struct PairStep {
  using Element = std::uint16_t;
  typedef float Numbers __attribute__((vector_size(64)));
  typedef std::uint32_t Weights __attribute__((vector_size(64)));
  typedef Weights Left;
  typedef std::uint32_t Pair __attribute__((aligned(alignof(std::uint16_t)), may_alias));
  static constexpr std::size_t kRows = 2;
  static constexpr bool kIsLarge = false;

  static RINGRUN_INLINE void loadWeights(const std::uint16_t* from, Weights& to) { std::memcpy(&to, from, sizeof to); }
  static RINGRUN_INLINE void loadLeft(const std::uint16_t* from, Left& to) {
    Left pairs;
    asm("vpbroadcastd %1, %0" : "=v"(pairs) : "m"(*reinterpret_cast<const Pair*>(from)));
    to = pairs;
  }
  static RINGRUN_INLINE void add(const Weights& weights, const Left& left, Numbers& sums) {
    // g++ keeps arrays in memory whose elements are operands themselves.
    Numbers sum = sums;
    asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(weights), "v"(left));
    sums = sum;
  }
};

#undef RINGRUN_INLINE

}  // namespace

__attribute__((target(RINGRUN_PAIRS))) void multiplyAvx512BFloat16(const HalfPanelProduct& product) {
  ProductBlocksOf<PairStep, 64>::multiply(product);
}

#if defined(__clang__)
#pragma clang attribute pop
#endif

bool hasAvx512BFloat16() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  // CPUID leaf 7, subleaf 1.
  return hasAvx512WithFma() && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & 1u << 5) != 0;
}

}  // namespace ringrun

#endif
