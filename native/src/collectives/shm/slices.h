#pragma once

#include <cstddef>
#include <vector>

#include "base/operation.h"
#include "reduce/kernels.h"

namespace ringrun {

// Pointers to the same elements on every rank, in the order of the ranks. Those of a few ranks need no memory of their own,
// because allocating it takes as long as adding a short array.
class Slices {
 public:
  explicit Slices(std::size_t size) : size_(size), many_(size > kFew ? size : 0) {}

  void** data() { return size_ > kFew ? many_.data() : few_; }
  void* const* data() const { return size_ > kFew ? many_.data() : few_; }
  std::size_t size() const { return size_; }
  void*& operator[](std::size_t rank) { return data()[rank]; }
  void* operator[](std::size_t rank) const { return data()[rank]; }

 private:
  static constexpr std::size_t kFew = 8;

  std::size_t size_;
  void* few_[kFew] = {};
  std::vector<void*> many_;
};

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
