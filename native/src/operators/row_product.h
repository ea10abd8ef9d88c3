#pragma once

#include <cstddef>
#include <vector>

#include "operators/product/panels.h"

namespace ringrun {

// Rows of numbers times one matrix, for products of few rows with a matrix that stays: the steps of a recurrent network.
class RowProduct {
 public:
  // Columns including padding: rows of results need room for them.
  static std::size_t padded(std::size_t columns);

  // Stores the matrix [inner, columns] whose element (k, j) is elements[k·innerStride + j·columnStride].
  void store(const float* elements, std::size_t inner, std::size_t columns, std::size_t innerStride, std::size_t columnStride);

  // See PanelProductOf.
  void multiply(const float* const* from, const float* const* start, float* const* to, std::size_t rows) const;

 private:
  std::size_t inner_ = 0;
  std::vector<const float*> panels_;
  AlignedFloats elements_;
};

}  // namespace ringrun
