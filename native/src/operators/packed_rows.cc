#include "operators/packed_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace ringrun {

namespace {

std::size_t roundedUp(std::size_t words) { return (words + kPackedHeader - 1) / kPackedHeader * kPackedHeader; }

std::uint32_t wordAt(const float* words) {
  std::uint32_t word;
  std::memcpy(&word, words, sizeof word);
  return word;
}

void setWord(float* words, std::uint32_t word) { std::memcpy(words, &word, sizeof word); }

constexpr unsigned kDigitBits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;

}  // namespace

std::size_t packedLength(std::size_t capacity, std::size_t width) { return kPackedHeader + roundedUp(capacity) + capacity * width; }

PackedRows::PackedRows(const float* packed, std::size_t length, std::size_t tableRows, std::size_t width) {
  if (length < kPackedHeader) throw std::runtime_error("expected packed rows, got " + std::to_string(length) + " floats");
  count_ = wordAt(packed);
  capacity_ = wordAt(packed + 1);
  if (count_ > capacity_ || packedLength(capacity_, width) != length) {
    throw std::runtime_error("expected packed rows of " + std::to_string(width) + " floats, got " + std::to_string(count_) + " of " + std::to_string(capacity_) +
                             " rows in " + std::to_string(length) + " floats");
  }
  indices_ = packed + kPackedHeader;
  values_ = indices_ + roundedUp(capacity_);
  // Indices increase.
  if (count_ > 0 && index(count_ - 1) >= tableRows) {
    throw std::runtime_error("expected rows below " + std::to_string(tableRows) + ", got " + std::to_string(index(count_ - 1)));
  }
}

std::size_t PackedRows::index(std::size_t row) const { return wordAt(indices_ + row); }

PackedRowsWriter::PackedRowsWriter(float* packed, std::size_t count, std::size_t capacity)
    : indices_(packed + kPackedHeader), values_(indices_ + roundedUp(capacity)) {
  setWord(packed, static_cast<std::uint32_t>(count));
  setWord(packed + 1, static_cast<std::uint32_t>(capacity));
}

void PackedRowsWriter::setIndex(std::size_t row, std::uint32_t index) const { setWord(indices_ + row, index); }

void RowOrder::sort(const std::int64_t* rows, std::size_t count, std::int64_t tableRows) {
  keys_.clear();
  for (std::size_t place = 0; place < count; ++place) {
    const std::int64_t row = rows[place];
    if (row < 0) continue;
    if (row >= tableRows) throw std::runtime_error("expected rows below " + std::to_string(tableRows) + ", got " + std::to_string(row));
    keys_.push_back(static_cast<std::uint64_t>(row) << 32 | place);
  }
  // A radix sort from the lowest digit of the row keeps the order of places.
  sorted_.resize(keys_.size());
  for (unsigned shift = 32; tableRows > std::int64_t{1} << (shift - 32); shift += kDigitBits) {
    std::array<std::size_t, kDigits> next{};
    for (const std::uint64_t key : keys_) ++next[(key >> shift) % kDigits];
    std::size_t before = 0;
    for (std::size_t& at : next) before += std::exchange(at, before);
    for (const std::uint64_t key : keys_) sorted_[next[(key >> shift) % kDigits]++] = key;
    std::swap(keys_, sorted_);
  }
  starts_.clear();
  for (std::size_t at = 0; at < keys_.size(); ++at) {
    if (at == 0 || keys_[at] >> 32 != keys_[at - 1] >> 32) starts_.push_back(at);
  }
  starts_.push_back(keys_.size());
}

}  // namespace ringrun
