#pragma once

#include <cstddef>
#include <vector>

namespace ringrun {

// Float32 numbers from an address that is a multiple of a cache line.
class AlignedFloats {
 public:
  // The contents are not kept.
  void resize(std::size_t count);

  float* data() const { return data_; }

 private:
  std::vector<float> memory_;
  float* data_ = nullptr;
};

// Rows of numbers times one matrix, for products of few rows with a matrix that stays: the steps of a recurrent network.
//
// The matrix is stored in panels of 16 columns, which a product reads from the first to the last element. Every element
// of a product is summed in the order of the matrix' rows, so its bits depend neither on the other rows nor on their number.
class RowProduct {
 public:
  // Columns in memory: the rows of results need room for them.
  static std::size_t padded(std::size_t columns);

  // Stores the matrix [inner, columns] whose element (k, j) is elements[k·innerStride + j·columnStride].
  void store(const float* elements, std::size_t inner, std::size_t columns, std::size_t innerStride, std::size_t columnStride);

  // to[r] = start[r] + from[r]·matrix, for `rows` rows. `start` and `to` point to padded(columns) elements. `start` may be
  // null, which is 0, and start[r] may be to[r].
  void multiply(const float* const* from, const float* const* start, float* const* to, std::size_t rows) const;

 private:
  std::size_t inner_ = 0;
  std::size_t panels_ = 0;
  AlignedFloats elements_;
};

}  // namespace ringrun
