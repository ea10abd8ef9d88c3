#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "operators/attention.h"
#include "operators/product/pack.h"
#include "operators/product/panels.h"
#include "operators/transpose.h"
#include "operators/vectors.h"

// What forward pass and gradient of attention share: memory, operands packed in panels (operators/product/panels.h), masks.

namespace ringrun {

constexpr std::size_t roundedUp(std::size_t count, std::size_t to) { return (count + to - 1) / to * to; }

// A right operand of products. Element offsets are those of its element type: panel p from row k of the matrix on is at
// panel(p) + k·16, for k that is a multiple of kNumbersOfWord.
template <typename T>
class Panels {
 public:
  // The matrix whose element (k, j) is rows[k][j].
  void packRows(const AttentionRows<const T>& rows, std::size_t inner, std::size_t columns);
  // The matrix whose element (k, j) is rows[j][k].
  void packColumns(const AttentionRows<const T>& rows, std::size_t inner, std::size_t columns);

  std::size_t count() const { return count_; }
  T* panel(std::size_t index) const { return elements_.data() + index * panelSize_; }

  // Memory for a matrix that the caller writes.
  void resize(std::size_t inner, std::size_t columns) {
    count_ = roundedUp(columns, kLanes) / kLanes;
    panelSize_ = roundedUp(inner, kLanes) * kLanes;
    elements_.resize(count_ * panelSize_);
  }

 private:
  void pack(const MatrixOperand& matrix, std::size_t inner, std::size_t columns);

  std::size_t count_ = 0;
  std::size_t panelSize_ = 0;
  Aligned<T> elements_;
};

// Left operands whose rows of `inner` numbers consist of whole words: in place where possible, else copied with zeros.
template <typename T>
class LeftRows {
 public:
  void set(const AttentionRows<const T>& rows, std::size_t count, std::size_t inner) {
    rows_ = rows;
    const MatrixOperand left{rows.data, kIsHalf<T>, rows.stride, 1};
    if (hasRowsInPlace<T>(left, inner)) return;
    const std::size_t stride = paddedInner<T>(inner);
    T* const to = copies_.resize(count * stride);
    ringrun::packRows(left, count, inner, to);
    rows_ = {to, stride};
  }
  const AttentionRows<const T>& rows() const { return rows_; }

 private:
  AttentionRows<const T> rows_{};
  Aligned<T> copies_;
};

// Panels from `panel` on, and of each the `inner` rows from `first` on.
template <typename T>
struct PanelPart {
  const Panels<T>& panels;
  std::size_t panel;
  std::size_t count;
  std::size_t first;
  std::size_t inner;
};

// to[r] = left[r]·panels, or adds it, for rows r below `rows`.
template <typename T>
void multiplyTile(const PanelPart<T>& part, const AttentionRows<const T>& left, std::size_t rows, bool adds, const AttentionRows<float>& to) {
  constexpr std::size_t kRows = 64;
  constexpr std::size_t kPanels = 24;
  for (std::size_t p = 0; p < part.count; p += kPanels) {
    const std::size_t count = std::min(kPanels, part.count - p);
    const T* panels[kPanels];
    for (std::size_t q = 0; q < count; ++q) panels[q] = part.panels.panel(part.panel + p + q) + part.first * kLanes;
    for (std::size_t row = 0; row < rows; row += kRows) {
      const std::size_t height = std::min(kRows, rows - row);
      const T* from[kRows];
      float* results[kRows];
      for (std::size_t r = 0; r < height; ++r) {
        from[r] = left[row + r];
        results[r] = to[row + r] + p * kLanes;
      }
      multiplyPanels(PanelProductOf<T>{panels, count, paddedInner<T>(part.inner), from, adds ? results : nullptr, results, height});
    }
  }
}

// Queries of a block, and keys of a tile. Tiles are transposed: a row has the scores of one key, so that maxima and sums of
// queries are vectors, and weights are stored as panels for a product, or as its left operand.
constexpr std::size_t kQueriesOfBlock = 48;
constexpr std::size_t kKeysOfTile = 64;

// The distance of rows that have the elements of `count` others side by side. Rows of powers of two would share few places of
// a cache.
constexpr std::size_t transposedStride(std::size_t count) { return roundedUp(count, kLanes) + kLanes; }

// Row e of the result has element e of all rows, and zeros up to a multiple of 16.
template <typename T>
void transposeRows(const AttentionRows<const T>& rows, std::size_t count, std::size_t size, Panels<T>& memory, T* to) {
  const std::size_t stride = transposedStride(count);
  if constexpr (kNumbersOfWord<T> == 1) {
    for (std::size_t e = 0; e < size; ++e) std::fill(to + e * stride + count, to + (e + 1) * stride, T{0});
    transposeWords({rows.data, rows.stride * sizeof(T), count, size}, reinterpret_cast<std::uint32_t*>(to), stride);
  } else {
    // A word of a panel has two rows: side by side in the result.
    memory.packRows(rows, count, size);
    const std::size_t words = roundedUp(count, kLanes) / kNumbersOfWord<T>;
    for (std::size_t p = 0; p < memory.count(); ++p) {
      const std::size_t width = std::min(kLanes, size - p * kLanes);
      transposeWords({memory.panel(p), kLanes * sizeof(std::uint32_t), words, width}, reinterpret_cast<std::uint32_t*>(to + p * kLanes * stride),
                     stride / kNumbersOfWord<T>);
    }
  }
}

// Stores rows of float32 numbers, kQueriesOfBlock apart, transposed as `rows` rows of `size` elements.
template <typename T>
void storeTransposed(const float* from, std::size_t rows, std::size_t size, Aligned<float>& memory, const AttentionRows<T>& to);

// Stores rows of float32 numbers with elements up to a multiple of 16.
template <typename T>
void storeRows(const AttentionRows<float>& from, std::size_t rows, std::size_t size, const AttentionRows<T>& to);

// Stores a row of each number of a word's keys in a panel.
template <std::size_t Bytes>
inline __attribute__((always_inline)) void storeInPanel(const Lanes<Bytes> (&numbers)[1], float* to) {
  numbers[0].store(to);
}
template <std::size_t Bytes>
inline __attribute__((always_inline)) void storeInPanel(const Lanes<Bytes> (&numbers)[2], std::uint16_t* to) {
  typedef typename Lanes<Bytes>::Bits Bits;
  for (std::size_t v = 0; v < Lanes<Bytes>::kVectors; ++v) {
    Bits even, odd;
    Lanes<Bytes>::narrow(numbers[0][v], even);
    Lanes<Bytes>::narrow(numbers[1][v], odd);
    const Bits pair = even | (odd << 16);
    std::memcpy(to + 2 * v * (kLanes / Lanes<Bytes>::kVectors), &pair, Bytes);
  }
}

// Sets the first `count` lanes; none if it is not positive.
template <std::size_t Bytes>
inline __attribute__((always_inline)) void fillLanes(Lanes<Bytes>& lanes, std::ptrdiff_t count, float number) {
  if (count <= 0) return;
  float numbers[kLanes];
  lanes.store(numbers);
  std::fill_n(numbers, std::min<std::ptrdiff_t>(count, kLanes), number);
  lanes.load(numbers);
}

// A tile of queries from `query` on and keys from `key` on.
struct AttentionTile {
  std::size_t query;
  std::size_t rows;
  std::size_t key;
  std::size_t keys;
  std::size_t allKeys;

  // Query i of the tile attends to its key j if i + distance ≥ j.
  std::ptrdiff_t distance(const AttentionScores& scores) const {
    return scores.isCausal ? static_cast<std::ptrdiff_t>(query) - static_cast<std::ptrdiff_t>(key) : static_cast<std::ptrdiff_t>(keys);
  }
};

// Scales products [keys, kQueriesOfBlock] and applies the mask, if there is one. Apart from the code that subtracts maxima, which
// would otherwise be fused with it: a difference from a maximum that is not rounded in the same way may be large.
void completeScores(const AttentionScores& scores, const AttentionTile& tile, float* numbers);

// The factors of dropout, [keys, kQueriesOfBlock].
void dropoutFactorsOf(const AttentionScores& scores, const AttentionTile& tile, float* to);

}  // namespace ringrun
