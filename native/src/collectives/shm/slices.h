#pragma once

#include <cstddef>
#include <vector>

#include "base/operation.h"
#include "reduce/kernels.h"

namespace ringrun {

// Pointers to the same elements on every rank, in the order of the ranks.
using Slices = std::vector<void*>;

template <typename Locate>
Slices slicesOf(int size, Locate locate) {
  Slices slices(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) slices[static_cast<std::size_t>(rank)] = locate(rank);
  return slices;
}

// The complete reduction of `count` elements: `inputs` are those of all ranks. An output may be one of the inputs.
inline void reduceSlices(const Fingerprint& fingerprint, const Slices& inputs, void* const* outputs,
                         std::size_t outputCount, std::size_t count) {
  Reduction reduction;
  reduction.inputs = inputs.data();
  reduction.inputCount = inputs.size();
  reduction.outputs = outputs;
  reduction.outputCount = outputCount;
  reduction.count = count;
  reduction.divisor = divisorOf(fingerprint.reduceOp, inputs.size());
  ringrun::reduce(fingerprint.dtype, fingerprint.reduceOp, reduction);
}

}  // namespace ringrun
