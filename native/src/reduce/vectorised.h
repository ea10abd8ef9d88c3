#pragma once

#include <cstring>
#include <limits>
#include <type_traits>

#include "reduce/kernels.h"

// One body for every element type, operator and vector width, inlined into functions with the instruction set
// as an attribute (instruction_sets.h). So no file needs its own flags, and no library inline function is
// compiled for instructions that the processor may lack.

namespace ringrun {

#define RINGRUN_INLINE inline __attribute__((always_inline))

// The operators: left ← left ∘ right, of one element T or of a vector V of them. Operands are references,
// because passing vectors by value depends on the instruction set.

struct Sum {
  template <typename T, typename V>
  static RINGRUN_INLINE void apply(V& left, const V& right) {
    left = static_cast<V>(left + right);
  }
};

struct Product {
  template <typename T, typename V>
  static RINGRUN_INLINE void apply(V& left, const V& right) {
    left = static_cast<V>(left * right);
  }
};

// A NaN on the left is kept, because comparisons with it are false. A NaN on the right needs a test.
struct Min {
  template <typename T, typename V>
  static RINGRUN_INLINE void apply(V& left, const V& right) {
    if constexpr (std::is_floating_point_v<T>) {
      left = ((right < left) | (right != right)) ? right : left;
    } else {
      left = right < left ? right : left;
    }
  }
};

struct Max {
  template <typename T, typename V>
  static RINGRUN_INLINE void apply(V& left, const V& right) {
    if constexpr (std::is_floating_point_v<T>) {
      left = ((right > left) | (right != right)) ? right : left;
    } else {
      left = right > left ? right : left;
    }
  }
};

struct BitwiseAnd {
  template <typename T, typename V>
  static RINGRUN_INLINE void apply(V& left, const V& right) {
    left &= right;
  }
};

struct BitwiseOr {
  template <typename T, typename V>
  static RINGRUN_INLINE void apply(V& left, const V& right) {
    left |= right;
  }
};

struct BitwiseXor {
  template <typename T, typename V>
  static RINGRUN_INLINE void apply(V& left, const V& right) {
    left ^= right;
  }
};

// A vector of `Lanes` elements; with one lane, the element itself.
template <typename T, std::size_t Lanes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(Lanes * sizeof(T))));
};

template <typename T>
struct VectorOf<T, 1> {
  using Type = T;
};

// The start addresses of arrays. Addresses of a fixed count are copied to locals: otherwise the compiler
// assumes that a store to an array may change them, and reloads every pointer for every vector.
template <typename Pointer, std::size_t Count>
struct Beginnings {
  explicit RINGRUN_INLINE Beginnings(const Pointer* given) {
    for (std::size_t k = 0; k < Count; ++k) pointers[k] = given[k];
  }
  RINGRUN_INLINE Pointer operator[](std::size_t k) const { return pointers[k]; }

  Pointer pointers[Count];
};

template <typename Pointer>
struct Beginnings<Pointer, 0> {
  explicit RINGRUN_INLINE Beginnings(const Pointer* given) : pointers(given) {}
  RINGRUN_INLINE Pointer operator[](std::size_t k) const { return pointers[k]; }

  const Pointer* pointers;
};

// NaNs differ in sign and payload between processors and operand orders, which compilers choose. Every NaN of a result
// becomes the quiet NaN without sign or payload, so that all instruction sets produce equal bytes.
template <typename T, typename V>
RINGRUN_INLINE void makeNaNsEqual(V& values) {
  T lanes[sizeof(V) / sizeof(T)];
  for (T& lane : lanes) lane = std::numeric_limits<T>::quiet_NaN();
  V quiet;
  std::memcpy(&quiet, lanes, sizeof quiet);
  values = values == values ? values : quiet;
}

// Reduces one vector of every input at a time, from element `begin` while whole vectors remain, and returns the
// end. Counts are compile-time constants, or 0 for those of the reduction.
template <typename T, typename Operator, std::size_t Lanes, std::size_t Inputs, std::size_t Outputs>
RINGRUN_INLINE std::size_t reduceVectors(const Reduction& r, std::size_t begin) {
  using Vector = typename VectorOf<T, Lanes>::Type;
  const std::size_t inputCount = Inputs != 0 ? Inputs : r.inputCount;
  const std::size_t outputCount = Outputs != 0 ? Outputs : r.outputCount;
  const Beginnings<const T*, Inputs> inputs(reinterpret_cast<const T* const*>(r.inputs));
  const Beginnings<T*, Outputs> outputs(reinterpret_cast<T* const*>(r.outputs));
  const std::size_t count = r.count;
  constexpr bool kMayDivide = std::is_same_v<Operator, Sum> && std::is_floating_point_v<T>;
  const bool divides = r.divisor != 1;
  const Vector divisor = static_cast<T>(r.divisor) - Vector{};
  std::size_t i = begin;
  for (; i + Lanes <= count; i += Lanes) {
    Vector result;
    std::memcpy(&result, inputs[0] + i, sizeof result);
    for (std::size_t k = 1; k < inputCount; ++k) {
      Vector term;
      std::memcpy(&term, inputs[k] + i, sizeof term);
      Operator::template apply<T>(result, term);
    }
    if constexpr (kMayDivide) {
      if (divides) result /= divisor;
    }
    if constexpr (std::is_floating_point_v<T>) makeNaNsEqual<T>(result);
    for (std::size_t k = 0; k < outputCount; ++k) std::memcpy(outputs[k] + i, &result, sizeof result);
  }
  return i;
}

template <typename T, typename Operator, std::size_t Lanes, std::size_t Inputs, std::size_t Outputs>
RINGRUN_INLINE void reduceRange(const Reduction& r) {
  const std::size_t done = Lanes == 1 ? 0 : reduceVectors<T, Operator, Lanes, Inputs, Outputs>(r, 0);
  reduceVectors<T, Operator, 1, Inputs, Outputs>(r, done);
}

// Vectors of `Bytes` bytes; sizeof(T) for single elements.
template <std::size_t Bytes, typename T, typename Operator>
RINGRUN_INLINE void reduceWithVectors(const Reduction& r) {
  constexpr std::size_t kLanes = Bytes / sizeof(T);
  if (r.inputCount == 2 && r.outputCount == 1) return reduceRange<T, Operator, kLanes, 2, 1>(r);
  if (r.inputCount == 2 && r.outputCount == 2) return reduceRange<T, Operator, kLanes, 2, 2>(r);
  if (r.inputCount == 4 && r.outputCount == 4) return reduceRange<T, Operator, kLanes, 4, 4>(r);
  return reduceRange<T, Operator, kLanes, 0, 0>(r);
}

#undef RINGRUN_INLINE

}  // namespace ringrun
