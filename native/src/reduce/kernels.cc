#include "reduce/kernels.h"

#include <cstdint>
#include <type_traits>

#include "reduce/instruction_sets.h"
#include "reduce/quantize_blocks.h"
#include "reduce/reduce_widened.h"
#include "reduce/vectorised.h"

namespace ringrun {
namespace {

// Selects how an operator reduces floating-point numbers: directly or widened.

template <typename Set, typename T>
struct AsTheyAre {
  template <typename Operator>
  static constexpr ReductionKernel kKernel = Set::template run<T, Operator>;
};

template <typename Set, typename Format>
struct Widened {
  template <typename Operator>
  static constexpr ReductionKernel kKernel = reduceWidened<Set, Format, Operator>;
};

template <typename Way>
ReductionKernel floatingPointKernel(ReduceOp op) {
  switch (op) {
    case ReduceOp::Sum:
    case ReduceOp::Avg: return Way::template kKernel<Sum>;
    case ReduceOp::Product: return Way::template kKernel<Product>;
    case ReduceOp::Min: return Way::template kKernel<Min>;
    case ReduceOp::Max: return Way::template kKernel<Max>;
    case ReduceOp::None:
    case ReduceOp::Band:
    case ReduceOp::Bor:
    case ReduceOp::Bxor: return nullptr;
  }
  return nullptr;
}

// Sums and products of signed integers use the unsigned type, whose overflow is defined and produces the same
// bits. Only comparisons need the sign.
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
    case DType::None: return nullptr;
    case DType::Float32: return floatingPointKernel<AsTheyAre<Set, float>>(op);
    case DType::Float64: return floatingPointKernel<AsTheyAre<Set, double>>(op);
    case DType::Int8: return integerKernel<Set, std::int8_t>(op);
    case DType::UInt8: return integerKernel<Set, std::uint8_t>(op);
    case DType::Int32: return integerKernel<Set, std::int32_t>(op);
    case DType::UInt32: return integerKernel<Set, std::uint32_t>(op);
    case DType::Int64: return integerKernel<Set, std::int64_t>(op);
    case DType::UInt64: return integerKernel<Set, std::uint64_t>(op);
    case DType::Float16: return floatingPointKernel<Widened<Set, Float16>>(op);
    case DType::BFloat16: return floatingPointKernel<Widened<Set, BFloat16>>(op);
  }
  return nullptr;
}

template <typename Set>
Conversion conversionIn(DType dtype) {
  if (dtype == DType::Float16) return {Set::template widen<Float16>, Set::template narrow<Float16>};
  if (dtype == DType::BFloat16) return {Set::template widen<BFloat16>, Set::template narrow<BFloat16>};
  return {nullptr, nullptr};
}

template <typename Set, int Bits>
constexpr Quantizer kQuantizer{Set::template apply<Quantize<Bits>>, Set::template apply<Dequantize<Bits>>,
                               Set::template apply<CombineQuantized<Bits>>};

template <typename Set>
const Quantizer& quantizerIn(int bits) {
  return bits == 8 ? kQuantizer<Set, 8> : kQuantizer<Set, 4>;
}

template <typename Set>
InstructionSet instructionSet(const char* name) {
  return {name, kernelIn<Set>, conversionIn<Set>, quantizerIn<Set>};
}

#if defined(__x86_64__)

std::vector<InstructionSet> setsOfThisProcessor() {
  std::vector<InstructionSet> sets;
  if (Avx512::isHere()) sets.push_back(instructionSet<Avx512>("avx512"));
  if (Avx2::isHere()) sets.push_back(instructionSet<Avx2>("avx2"));
  sets.push_back(instructionSet<Sse2>("sse2"));
  sets.push_back(instructionSet<Plain>("plain"));
  return sets;
}

#elif defined(__aarch64__)

std::vector<InstructionSet> setsOfThisProcessor() {
  return {instructionSet<Neon>("neon"), instructionSet<Plain>("plain")};
}

#else

std::vector<InstructionSet> setsOfThisProcessor() { return {instructionSet<Plain>("plain")}; }

#endif

}  // namespace

const std::vector<InstructionSet>& instructionSets() {
  static const std::vector<InstructionSet> sets = setsOfThisProcessor();
  return sets;
}

const Quantizer& quantizerFor(int bits) { return instructionSets().front().quantizerFor(bits); }

void reduce(DType dtype, ReduceOp op, const Reduction& reduction) {
  instructionSets().front().kernelFor(dtype, op)(reduction);
}

}  // namespace ringrun
