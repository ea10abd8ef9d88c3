#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringrun {

// Elements at an address aligned to a cache line.
template <typename T>
class Aligned {
 public:
  // The contents are not kept. Memory only grows. Returns data().
  T* resize(std::size_t count) {
    constexpr std::size_t kAlignment = 64;
    memory_.resize(std::max(memory_.size(), count + kAlignment / sizeof(T)));
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    data_ = memory_.data() + (kAlignment - address % kAlignment) % kAlignment / sizeof(T);
    return data_;
  }

  T* data() const { return data_; }

 private:
  std::vector<T> memory_;
  T* data_ = nullptr;
};
using AlignedFloats = Aligned<float>;

// to[r] = start[r] + from[r]·matrix, for `rows` rows and a matrix in panels of 16 columns, from the first to the last of its
// `inner` rows. `start` and `to` point to 16 elements for each panel. `start` may be null, which is 0, and start[r] may be
// to[r].
//
// float: element (k, j) of panel p is panels[p][k·16 + j]. The terms of an element are summed in runs of 192 in the order of
// the matrix's rows, then the runs are summed, so its bits depend neither on the other rows nor on their number.
//
// std::uint16_t: both operands in bfloat16, sums in float32. Element (k, j) of panel p is panels[p][k/2·32 + 2·j + k%2]: pairs
// along `inner`, which is even. Callers add a zero to rows and matrix otherwise. Instructions of the processor treat denormal
// operands and sums as 0.
template <typename T>
struct PanelProductOf {
  const T* const* panels;
  std::size_t count;
  std::size_t inner;
  const T* const* from;
  const float* const* start;
  float* const* to;
  std::size_t rows;
};
using PanelProduct = PanelProductOf<float>;
using HalfPanelProduct = PanelProductOf<std::uint16_t>;

// The kernels for one instruction set.
struct PanelKernels {
  const char* name;
  bool isHere;
  void (*multiply)(const PanelProduct&);
  void (*multiplyHalves)(const HalfPanelProduct&);
};

// From the slowest to the fastest. The names are those of the instruction sets of products in bfloat16. `amx-twin` computes the
// blocks of AMX in plain C++, for tests on processors without it.
const std::vector<PanelKernels>& panelKernels();

// The fastest ones of this processor.
const PanelKernels& bestPanelKernels();

inline void multiplyPanels(const PanelProduct& product) { bestPanelKernels().multiply(product); }
inline void multiplyPanels(const HalfPanelProduct& product) { bestPanelKernels().multiplyHalves(product); }

}  // namespace ringrun
