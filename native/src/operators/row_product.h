#pragma once

#include <cstddef>
#include <vector>

namespace ringrun {

// Float32 numbers at an address aligned to a cache line.
class AlignedFloats {
 public:
  // The contents are not kept. Memory only grows.
  void resize(std::size_t count);

  float* data() const { return data_; }

 private:
  std::vector<float> memory_;
  float* data_ = nullptr;
};

// to[r] = start[r] + from[r]·matrix, for `rows` rows and a matrix in panels of 16 columns, from the first to the last of its
// `inner` rows: element (k, j) of panel p is panels[p][k·16 + j]. `start` and `to` point to 16 elements for each panel.
// `start` may be null, which is 0, and start[r] may be to[r].
//
// The terms of an element are summed in runs of 192 in the order of the matrix's rows, then the runs are summed, so its bits
// depend neither on the other rows nor on their number.
struct PanelProduct {
  const float* const* panels;
  std::size_t count;
  std::size_t inner;
  const float* const* from;
  const float* const* start;
  float* const* to;
  std::size_t rows;
};

void multiplyPanels(const PanelProduct& product);

// Rows of numbers times one matrix, for products of few rows with a matrix that stays: the steps of a recurrent network.
class RowProduct {
 public:
  // Columns including padding: rows of results need room for them.
  static std::size_t padded(std::size_t columns);

  // Stores the matrix [inner, columns] whose element (k, j) is elements[k·innerStride + j·columnStride].
  void store(const float* elements, std::size_t inner, std::size_t columns, std::size_t innerStride, std::size_t columnStride);

  // See PanelProduct.
  void multiply(const float* const* from, const float* const* start, float* const* to, std::size_t rows) const;

 private:
  std::size_t inner_ = 0;
  std::vector<const float*> panels_;
  AlignedFloats elements_;
};

}  // namespace ringrun
