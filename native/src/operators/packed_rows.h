#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringrun {

// The rows of a table that have a gradient, in one array of floats, so that it is written, exchanged and read as one:
//
//   int32 count, int32 capacity, …       kPackedHeader words
//   int32 index of each row              capacity words, rounded up to kPackedHeader; increasing, without duplicates
//   float values of each row             [capacity, width]
//
// Words after `count` rows have arbitrary values. packages/nn/src/sparse/packed-rows.ts has the same layout.
constexpr std::size_t kPackedHeader = 16;

std::size_t packedLength(std::size_t capacity, std::size_t width);

// Packed rows of `length` floats. Throws std::runtime_error if they do not fit a table [tableRows,width].
class PackedRows {
 public:
  PackedRows(const float* packed, std::size_t length, std::size_t tableRows, std::size_t width);

  std::size_t count() const { return count_; }
  std::size_t capacity() const { return capacity_; }
  std::size_t index(std::size_t row) const;
  const float* values() const { return values_; }

 private:
  const float* indices_;
  const float* values_;
  std::size_t count_;
  std::size_t capacity_;
};

// Writes packed rows. `values` has room for `capacity` rows.
class PackedRowsWriter {
 public:
  PackedRowsWriter(float* packed, std::size_t count, std::size_t capacity);

  void setIndex(std::size_t row, std::uint32_t index) const;
  float* values() const { return values_; }

 private:
  float* indices_;
  float* values_;
};

// The places of equal rows in a list, by row, and within a row in the order of the list.
class RowOrder {
 public:
  // Leaves out negative rows. Rows are below `tableRows`, which is at most 2^31.
  void sort(const std::int64_t* rows, std::size_t count, std::int64_t tableRows);

  std::size_t distinct() const { return starts_.size() - 1; }
  std::uint32_t row(std::size_t i) const { return static_cast<std::uint32_t>(keys_[starts_[i]] >> 32); }
  std::size_t begin(std::size_t i) const { return starts_[i]; }
  std::size_t end(std::size_t i) const { return starts_[i + 1]; }
  std::size_t place(std::size_t at) const { return static_cast<std::uint32_t>(keys_[at]); }

 private:
  // A row in the upper half and a place in the lower one.
  std::vector<std::uint64_t> keys_;
  std::vector<std::uint64_t> sorted_;
  std::vector<std::size_t> starts_{0};
};

}  // namespace ringrun
