#pragma once

#include <cstddef>
#include <vector>

#include "base/operation.h"
#include "reduce/kernels.h"

namespace ringrun {

// How the terms of an element are combined.
struct Combination {
  DType dtype;
  ReduceOp op;
  std::size_t divisor;  // of the complete result: the number of ranks for AVG, else 1

  std::size_t elementBytes() const { return bytesPerElement(dtype); }

  // result ← terms[0] ∘ terms[1] ∘ …, a partial result. `result` may be one of the terms.
  void combine(const std::vector<const void*>& terms, void* result, std::size_t count) const {
    run(terms, result, count, 1);
  }

  // The same for the last terms: also divides.
  void complete(const std::vector<const void*>& terms, void* result, std::size_t count) const {
    run(terms, result, count, divisor);
  }

 private:
  void run(const std::vector<const void*>& terms, void* result, std::size_t count, std::size_t by) const {
    reduce(dtype, op, {terms.data(), terms.size(), &result, 1, count, by});
  }
};

}  // namespace ringrun
