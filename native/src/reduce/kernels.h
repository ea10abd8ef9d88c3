#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/operation.h"
#include "reduce/quantize.h"

namespace ringrun {

// outputs[*][i] = inputs[0][i] ∘ inputs[1][i] ∘ … for i < count. A sum of floating-point numbers is divided by
// the divisor.
//
// Always reduced in the order of `inputs`, element by element, so that equal inputs give equal bytes on every
// rank and with every kernel. Integers wrap around. MIN and MAX are NaN if any term is. Every
// NaN of a result is the positive quiet NaN without payload. float16 and bfloat16 are reduced in float32 and
// rounded once. An output may be one of the inputs; other overlaps are not allowed. Alignment is that of one
// element.
struct Reduction {
  const void* const* inputs;
  std::size_t inputCount;
  void* const* outputs;
  std::size_t outputCount;
  std::size_t count;
  // The divisor of the complete sum for AVG; otherwise 1.
  std::size_t divisor;
};

using ReductionKernel = void (*)(const Reduction&);

// Conversions of 16-bit elements (reduce/widen.h).
struct Conversion {
  void (*widen)(const std::uint16_t* from, float* to, std::size_t count);
  void (*narrow)(const float* from, std::uint16_t* to, std::size_t count);
};

struct InstructionSet {
  const char* name;
  // Returns nullptr for invalid combinations: AVG of integers, bitwise operators on floating-point numbers.
  ReductionKernel (*kernelFor)(DType, ReduceOp);
  // Returns nullptr for dtypes that are reduced directly.
  Conversion (*conversionFor)(DType);
  // `bits`: 8 or 4.
  const Quantizer& (*quantizerFor)(int bits);
};

// The sets that this processor supports, fastest first; the last one is plain C++.
const std::vector<InstructionSet>& instructionSets();

// Runs the fastest kernel. The operator must be valid for the dtype, which TypeScript checks.
void reduce(DType dtype, ReduceOp op, const Reduction& reduction);

// The divisor for a reduction over `ranks` ranks.
inline std::size_t divisorOf(ReduceOp op, std::size_t ranks) { return op == ReduceOp::Avg ? ranks : 1; }

}  // namespace ringrun
