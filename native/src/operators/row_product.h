#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "operators/product/pack.h"
#include "operators/product/panels.h"

namespace ringrun {

// Rows of numbers times one matrix, for products of few rows with a matrix that stays: the steps of a recurrent network.
class RowProduct {
 public:
  // Columns including padding: rows of results need room for them.
  static std::size_t padded(std::size_t columns);

  // Stores a matrix [inner, columns]. One of bfloat16 numbers is multiplied in bfloat16, to which rows are rounded.
  void store(const MatrixOperand& matrix, std::size_t inner, std::size_t columns);

  // See PanelProductOf.
  void multiply(const float* const* from, const float* const* start, float* const* to, std::size_t rows) const;

 private:
  template <typename T>
  void pack(const MatrixOperand& matrix, std::size_t columns, const T** panels, T* to) const;

  bool isHalf_ = false;
  std::size_t inner_ = 0;
  // One of the two, by isHalf_.
  std::vector<const float*> panels_;
  std::vector<const std::uint16_t*> halfPanels_;
  AlignedFloats elements_;
  Aligned<std::uint16_t> halfElements_;
};

}  // namespace ringrun
