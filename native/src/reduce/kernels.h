#pragma once

#include <cstddef>
#include <vector>

#include "base/operation.h"

namespace ringrun {

// outputs[*][i] = (inputs[0][i] + inputs[1][i] + …) ÷ divisor, for i < count.
//
// Always added in the order of `inputs`, element by element, so that equal inputs give equal bytes on every rank and
// with every kernel. An output may be one of the inputs; other overlaps are not allowed. No alignment beyond the
// element's is needed.
struct Reduction {
  const void* const* inputs;
  std::size_t inputCount;
  void* const* outputs;
  std::size_t outputCount;
  std::size_t count;
  // Ranks to divide the complete sum by (AVG); 1 for SUM.
  std::size_t divisor;
};

using ReductionKernel = void (*)(const Reduction&);

struct NamedKernel {
  const char* name;
  ReductionKernel run;
};

// Every kernel for float32 sums that this processor can run, fastest first; the last one is plain C++.
const std::vector<NamedKernel>& float32Kernels();

// Runs the fastest kernel for the dtype.
void reduce(DType dtype, const Reduction& reduction);

// Ranks to divide by after summing over `ranks` of them.
inline std::size_t divisorOf(ReduceOp op, std::size_t ranks) { return op == ReduceOp::Avg ? ranks : 1; }

}  // namespace ringrun
