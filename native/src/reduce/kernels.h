#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/operation.h"

namespace ringrun {

// outputs[*][i] = inputs[0][i] ∘ inputs[1][i] ∘ …, for i < count; ÷ divisor where it is a sum of floating-point numbers.
//
// Always reduced in the order of `inputs`, element by element, so that equal inputs give equal bytes on every rank and
// with every kernel. Integers wrap around; MIN and MAX are NaN where any term is. float16 and bfloat16 are reduced in
// float32, and rounded once. An output may be one of the inputs;
// other overlaps are not allowed. No alignment beyond the element's is needed.
struct Reduction {
  const void* const* inputs;
  std::size_t inputCount;
  void* const* outputs;
  std::size_t outputCount;
  std::size_t count;
  // Ranks to divide the complete sum by (AVG); 1 for everything else.
  std::size_t divisor;
};

using ReductionKernel = void (*)(const Reduction&);

// Of elements of 16 bits; see reduce/widen.h.
struct Conversion {
  void (*widen)(const std::uint16_t* from, float* to, std::size_t count);
  void (*narrow)(const float* from, std::uint16_t* to, std::size_t count);
};

struct InstructionSet {
  const char* name;
  // nullptr where the operator has no meaning: AVG of integers, bits of floating-point numbers.
  ReductionKernel (*kernelFor)(DType, ReduceOp);
  // nullptr for dtypes that are reduced as they are.
  Conversion (*conversionFor)(DType);
};

// Those that this processor has, fastest first; the last one is plain C++.
const std::vector<InstructionSet>& instructionSets();

// Runs the fastest kernel. The operator has a meaning for the dtype: TypeScript lets nothing else through.
void reduce(DType dtype, ReduceOp op, const Reduction& reduction);

// Ranks to divide by after reducing over `ranks` of them.
inline std::size_t divisorOf(ReduceOp op, std::size_t ranks) { return op == ReduceOp::Avg ? ranks : 1; }

}  // namespace ringrun
