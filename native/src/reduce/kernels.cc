#include "reduce/kernels.h"

#include <cstdint>
#include <type_traits>

#include "reduce/vectorised.h"

namespace ringrun {
namespace {

// Instruction sets: functions that differ in nothing but their attribute and the width of the vectors.

struct Plain {
  template <typename T, typename Operator>
  static void run(const Reduction& reduction) {
    reduceWithVectors<sizeof(T), T, Operator>(reduction);
  }
};

// 128 bits are in the base line of x86-64 (SSE2) and of arm64 (NEON).
struct Baseline128 {
  template <typename T, typename Operator>
  static void run(const Reduction& reduction) {
    reduceWithVectors<16, T, Operator>(reduction);
  }
};

#if defined(__x86_64__)

struct Avx2 {
  template <typename T, typename Operator>
  __attribute__((target("avx2"))) static void run(const Reduction& reduction) {
    reduceWithVectors<32, T, Operator>(reduction);
  }
};

// BW has the operations on bytes, DQ the product of 64-bit integers.
struct Avx512 {
  template <typename T, typename Operator>
  __attribute__((target("avx512f,avx512bw,avx512dq"))) static void run(const Reduction& reduction) {
    reduceWithVectors<64, T, Operator>(reduction);
  }
};

#endif

template <typename Set, typename T>
ReductionKernel floatingPointKernel(ReduceOp op) {
  switch (op) {
    case ReduceOp::Sum:
    case ReduceOp::Avg: return Set::template run<T, Sum>;
    case ReduceOp::Product: return Set::template run<T, Product>;
    case ReduceOp::Min: return Set::template run<T, Min>;
    case ReduceOp::Max: return Set::template run<T, Max>;
    case ReduceOp::None:
    case ReduceOp::Band:
    case ReduceOp::Bor:
    case ReduceOp::Bxor: return nullptr;
  }
  return nullptr;
}

// Sums and products of signed integers wrap around to the bits of the unsigned ones, where that is no undefined
// behaviour. Only the order needs the sign.
template <typename Set, typename T>
ReductionKernel integerKernel(ReduceOp op) {
  using Bits = std::make_unsigned_t<T>;
  switch (op) {
    case ReduceOp::Sum: return Set::template run<Bits, Sum>;
    case ReduceOp::Product: return Set::template run<Bits, Product>;
    case ReduceOp::Min: return Set::template run<T, Min>;
    case ReduceOp::Max: return Set::template run<T, Max>;
    case ReduceOp::Band: return Set::template run<Bits, BitwiseAnd>;
    case ReduceOp::Bor: return Set::template run<Bits, BitwiseOr>;
    case ReduceOp::Bxor: return Set::template run<Bits, BitwiseXor>;
    case ReduceOp::None:
    case ReduceOp::Avg: return nullptr;
  }
  return nullptr;
}

template <typename Set>
ReductionKernel kernelIn(DType dtype, ReduceOp op) {
  switch (dtype) {
    case DType::None:
    case DType::Float16:
    case DType::BFloat16: return nullptr;
    case DType::Float32: return floatingPointKernel<Set, float>(op);
    case DType::Float64: return floatingPointKernel<Set, double>(op);
    case DType::Int8: return integerKernel<Set, std::int8_t>(op);
    case DType::UInt8: return integerKernel<Set, std::uint8_t>(op);
    case DType::Int32: return integerKernel<Set, std::int32_t>(op);
    case DType::UInt32: return integerKernel<Set, std::uint32_t>(op);
    case DType::Int64: return integerKernel<Set, std::int64_t>(op);
    case DType::UInt64: return integerKernel<Set, std::uint64_t>(op);
  }
  return nullptr;
}

#if defined(__x86_64__)

std::vector<InstructionSet> setsOfThisProcessor() {
  std::vector<InstructionSet> sets;
  const bool hasAvx512 =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
  if (hasAvx512) sets.push_back({"avx512", kernelIn<Avx512>});
  if (__builtin_cpu_supports("avx2")) sets.push_back({"avx2", kernelIn<Avx2>});
  sets.push_back({"sse2", kernelIn<Baseline128>});
  sets.push_back({"plain", kernelIn<Plain>});
  return sets;
}

#elif defined(__aarch64__)

std::vector<InstructionSet> setsOfThisProcessor() {
  return {{"neon", kernelIn<Baseline128>}, {"plain", kernelIn<Plain>}};
}

#else

std::vector<InstructionSet> setsOfThisProcessor() { return {{"plain", kernelIn<Plain>}}; }

#endif

}  // namespace

const std::vector<InstructionSet>& instructionSets() {
  static const std::vector<InstructionSet> sets = setsOfThisProcessor();
  return sets;
}

void reduce(DType dtype, ReduceOp op, const Reduction& reduction) {
  instructionSets().front().kernelFor(dtype, op)(reduction);
}

}  // namespace ringrun
