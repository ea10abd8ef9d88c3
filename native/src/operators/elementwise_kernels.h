#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "operators/elementwise.h"
#include "operators/gelu.h"
#include "reduce/instruction_sets.h"

// The instructions of elementwise programs, for each instruction set. As in reduce/vectorised.h, one body for every
// vector width is inlined into functions with the instruction set as an attribute.

namespace ringrun {

// Reads and writes whole vectors: `count` is a multiple of kLongestVector elements.
using ElementwiseKernel = void (*)(float* to, const float* const* operands, std::size_t count);
constexpr std::size_t kLongestVector = 16;

#define RINGRUN_INLINE inline __attribute__((always_inline))

// A condition is a mask: all bits of an element, or none.
template <std::size_t Bytes>
struct Vectors {
  typedef float Numbers __attribute__((vector_size(Bytes)));
  typedef std::int32_t Mask __attribute__((vector_size(Bytes)));
  typedef std::uint32_t Bits __attribute__((vector_size(Bytes)));
};

template <>
struct Vectors<4> {
  using Numbers = float;
  using Mask = std::int32_t;
  using Bits = std::uint32_t;
};

// A comparison of single elements gives a bool, one of vectors a mask.
template <typename M, typename C>
RINGRUN_INLINE void setMask(M& to, const C& condition) {
  if constexpr (std::is_same_v<M, std::int32_t>) {
    to = condition ? -1 : 0;
  } else {
    to = condition;
  }
}

// to = mask ? whenTrue : whenFalse, by bits.
template <typename N, typename M>
RINGRUN_INLINE void select(N& to, const M& mask, const N& whenTrue, const N& whenFalse) {
  M a, b;
  std::memcpy(&a, &whenTrue, sizeof a);
  std::memcpy(&b, &whenFalse, sizeof b);
  const M chosen = (a & mask) | (b & ~mask);
  std::memcpy(&to, &chosen, sizeof to);
}

struct AddInstruction {
  template <typename N, typename M>
  static RINGRUN_INLINE void apply(N& to, const N& a, const N& b, const N&) { to = a + b; }
};
struct SubInstruction {
  template <typename N, typename M>
  static RINGRUN_INLINE void apply(N& to, const N& a, const N& b, const N&) { to = a - b; }
};
struct MulInstruction {
  template <typename N, typename M>
  static RINGRUN_INLINE void apply(N& to, const N& a, const N& b, const N&) { to = a * b; }
};
struct DivInstruction {
  template <typename N, typename M>
  static RINGRUN_INLINE void apply(N& to, const N& a, const N& b, const N&) { to = a / b; }
};
struct MaxInstruction {
  template <typename N, typename M>
  static RINGRUN_INLINE void apply(N& to, const N& a, const N& b, const N&) {
    M takesOver, isNaN;
    setMask(takesOver, a < b);
    setMask(isNaN, b != b);
    select(to, static_cast<M>(takesOver | isNaN), b, a);
  }
};
struct MinInstruction {
  template <typename N, typename M>
  static RINGRUN_INLINE void apply(N& to, const N& a, const N& b, const N&) {
    M takesOver, isNaN;
    setMask(takesOver, b < a);
    setMask(isNaN, b != b);
    select(to, static_cast<M>(takesOver | isNaN), b, a);
  }
};
struct NegInstruction {
  template <typename N, typename M>
  static RINGRUN_INLINE void apply(N& to, const N& a, const N&, const N&) { to = -a; }
};
struct SqrtInstruction {
  template <typename N, typename M>
  static RINGRUN_INLINE void apply(N& to, const N& a, const N&, const N&) {
    float elements[sizeof(N) / sizeof(float)];
    std::memcpy(elements, &a, sizeof a);
    for (float& element : elements) element = std::sqrt(element);
    std::memcpy(&to, elements, sizeof to);
  }
};
struct AbsInstruction {
  template <typename N, typename M>
  static RINGRUN_INLINE void apply(N& to, const N& a, const N&, const N&) {
    M bits;
    std::memcpy(&bits, &a, sizeof bits);
    bits &= 0x7fffffff;
    std::memcpy(&to, &bits, sizeof to);
  }
};
struct ReluInstruction {
  template <typename N, typename M>
  static RINGRUN_INLINE void apply(N& to, const N& a, const N&, const N&) {
    M isNegative;
    const N zero = N{};
    setMask(isNegative, a < zero);
    select(to, isNegative, zero, a);
  }
};

template <typename N, typename M, typename C>
RINGRUN_INLINE void storeCondition(N& to, const C& condition) {
  M mask;
  setMask(mask, condition);
  std::memcpy(&to, &mask, sizeof to);
}

struct GreaterInstruction {
  template <typename N, typename M>
  static RINGRUN_INLINE void apply(N& to, const N& a, const N& b, const N&) { storeCondition<N, M>(to, a > b); }
};
struct GreaterOrEqualInstruction {
  template <typename N, typename M>
  static RINGRUN_INLINE void apply(N& to, const N& a, const N& b, const N&) { storeCondition<N, M>(to, a >= b); }
};
struct LessOrEqualInstruction {
  template <typename N, typename M>
  static RINGRUN_INLINE void apply(N& to, const N& a, const N& b, const N&) { storeCondition<N, M>(to, a <= b); }
};
struct EqualInstruction {
  template <typename N, typename M>
  static RINGRUN_INLINE void apply(N& to, const N& a, const N& b, const N&) { storeCondition<N, M>(to, a == b); }
};
struct IsNaNInstruction {
  template <typename N, typename M>
  static RINGRUN_INLINE void apply(N& to, const N& a, const N&, const N&) { storeCondition<N, M>(to, a != a); }
};
struct OrInstruction {
  template <typename N, typename M>
  static RINGRUN_INLINE void apply(N& to, const N& a, const N& b, const N&) {
    M left, right;
    std::memcpy(&left, &a, sizeof left);
    std::memcpy(&right, &b, sizeof right);
    const M either = left | right;
    std::memcpy(&to, &either, sizeof to);
  }
};
struct WhereInstruction {
  template <typename N, typename M>
  static RINGRUN_INLINE void apply(N& to, const N& a, const N& b, const N& c) {
    M condition;
    std::memcpy(&condition, &a, sizeof condition);
    // onnxruntime treats a zero of the second operand as not selected, so it returns 0 for −0.
    const N positive = b + N{};
    select(to, condition, positive, c);
  }
};

struct RoundInstruction {
  // As BFloat16::narrowed (reduce/formats16.h).
  template <typename N, typename M>
  static RINGRUN_INLINE void apply(N& to, const N& a, const N&, const N&) {
    using Bits = typename Vectors<sizeof(N)>::Bits;
    Bits bits;
    std::memcpy(&bits, &a, sizeof bits);
    const Bits rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) & 0xffff0000u;
    const Bits quiet = (bits | 0x00400000u) & 0xffff0000u;
    M isNaN;
    setMask(isNaN, a != a);
    N number, notNumber;
    std::memcpy(&number, &rounded, sizeof number);
    std::memcpy(&notNumber, &quiet, sizeof notNumber);
    select(to, isNaN, notNumber, number);
  }
};

template <std::size_t Bytes, std::size_t Operands, typename I>
RINGRUN_INLINE void applyToVectors(float* to, const float* const* operands, std::size_t count) {
  using N = typename Vectors<Bytes>::Numbers;
  using M = typename Vectors<Bytes>::Mask;
  constexpr std::size_t kLanes = Bytes / sizeof(float);
  const float* const first = operands[0];
  const float* const second = Operands > 1 ? operands[1] : first;
  const float* const third = Operands > 2 ? operands[2] : first;
  for (std::size_t i = 0; i < count; i += kLanes) {
    N a, b, c, result;
    std::memcpy(&a, first + i, sizeof a);
    std::memcpy(&b, second + i, sizeof b);
    std::memcpy(&c, third + i, sizeof c);
    I::template apply<N, M>(result, a, b, c);
    std::memcpy(to + i, &result, sizeof result);
  }
}

struct PlainElementwise {
  template <std::size_t Operands, typename I>
  static void run(float* to, const float* const* operands, std::size_t count) {
    applyToVectors<4, Operands, I>(to, operands, count);
  }
};

#if defined(__x86_64__)

struct Sse2Elementwise {
  template <std::size_t Operands, typename I>
  static void run(float* to, const float* const* operands, std::size_t count) {
    if constexpr (std::is_same_v<I, SqrtInstruction>) {
      for (std::size_t i = 0; i < count; i += 4) _mm_storeu_ps(to + i, _mm_sqrt_ps(_mm_loadu_ps(operands[0] + i)));
    } else {
      applyToVectors<16, Operands, I>(to, operands, count);
    }
  }
};

struct Avx2Elementwise {
  template <std::size_t Operands, typename I>
  __attribute__((target("avx2"))) static void run(float* to, const float* const* operands, std::size_t count) {
    if constexpr (std::is_same_v<I, SqrtInstruction>) {
      for (std::size_t i = 0; i < count; i += 8) _mm256_storeu_ps(to + i, _mm256_sqrt_ps(_mm256_loadu_ps(operands[0] + i)));
    } else {
      applyToVectors<32, Operands, I>(to, operands, count);
    }
  }
};

#elif defined(__aarch64__)

struct NeonElementwise {
  template <std::size_t Operands, typename I>
  static void run(float* to, const float* const* operands, std::size_t count) {
    if constexpr (std::is_same_v<I, SqrtInstruction>) {
      for (std::size_t i = 0; i < count; i += 4) vst1q_f32(to + i, vsqrtq_f32(vld1q_f32(operands[0] + i)));
    } else {
      applyToVectors<16, Operands, I>(to, operands, count);
    }
  }
};

#endif

#undef RINGRUN_INLINE

inline void runGelu(float* to, const float* const* operands, std::size_t count) { gelu(operands[0], count, to); }
inline void runGeluGradient(float* to, const float* const* operands, std::size_t count) { geluGradient(operands[0], operands[1], count, to); }
inline void runTanhGelu(float* to, const float* const* operands, std::size_t count) { tanhGelu(operands[0], count, to); }
inline void runTanhGeluGradient(float* to, const float* const* operands, std::size_t count) {
  tanhGeluGradient(operands[0], operands[1], count, to);
}

template <typename Set>
struct ElementwiseKernels {
  // By opcode.
  static constexpr ElementwiseKernel kAll[kOpcodes] = {
      Set::template run<2, AddInstruction>,
      Set::template run<2, SubInstruction>,
      Set::template run<2, MulInstruction>,
      Set::template run<2, DivInstruction>,
      Set::template run<2, MaxInstruction>,
      Set::template run<2, MinInstruction>,
      Set::template run<1, NegInstruction>,
      Set::template run<1, SqrtInstruction>,
      Set::template run<1, AbsInstruction>,
      Set::template run<1, ReluInstruction>,
      Set::template run<2, GreaterInstruction>,
      Set::template run<2, GreaterOrEqualInstruction>,
      Set::template run<2, LessOrEqualInstruction>,
      Set::template run<2, EqualInstruction>,
      Set::template run<1, IsNaNInstruction>,
      Set::template run<2, OrInstruction>,
      Set::template run<3, WhereInstruction>,
      Set::template run<1, RoundInstruction>,
      runGelu,
      runGeluGradient,
      runTanhGelu,
      runTanhGeluGradient,
  };
};

}  // namespace ringrun
