#include "operators/product/pack.h"

#include <algorithm>
#include <cstring>

#include "operators/product/panels.h"
#include "operators/transpose.h"
#include "operators/vectors.h"
#include "reduce/widen.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

struct CopyPanel {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const float* from, std::size_t stride, std::size_t inner, std::size_t width, float* to) {
    for (std::size_t k = 0; k < inner; ++k) {
      Lanes<Bytes> row;
      row.load(from + k * stride, width, 0);
      row.store(to + k * kLanes);
    }
  }
};

// Rows of numbers along the inner axis, at a distance of `stride` elements.
template <typename T>
struct InnerRows {
  const T* data;
  std::size_t stride;
  std::size_t inner;
  std::size_t columns;
};

// Pairs of rows as words: pair k/2 is at to + k/2·toStride. The last row of an odd number is paired with zeros.
struct Interleave {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const InnerRows<T>& rows, std::uint32_t* to, std::size_t toStride) {
    for (std::size_t k = 0; k < rows.inner; k += 2) {
      const T* const first = rows.data + k * rows.stride;
      const T* const second = k + 1 < rows.inner ? first + rows.stride : nullptr;
      std::uint32_t* const pairs = to + k / 2 * toStride;
      std::size_t i = 0;
      for (; second != nullptr && i + kLanes <= rows.columns; i += kLanes) words<Bytes>(first + i, second + i, pairs + i);
      for (; i < rows.columns; i += kLanes) {
        const std::size_t count = std::min(kLanes, rows.columns - i);
        T some[2][kLanes] = {};
        std::copy_n(first + i, count, some[0]);
        if (second != nullptr) std::copy_n(second + i, count, some[1]);
        std::uint32_t last[kLanes];
        words<Bytes>(some[0], some[1], last);
        std::copy_n(last, count, pairs + i);
      }
    }
  }

 private:
  template <std::size_t Bytes>
  static RINGRUN_INLINE void words(const std::uint16_t* first, const std::uint16_t* second, std::uint32_t* to) {
    constexpr std::size_t kWords = Bytes / sizeof(std::uint32_t);
    for (std::size_t i = 0; i < kLanes; i += kWords) {
      typename Halves<Bytes>::Wide low, high;
      Halves<Bytes>::load(first + i, low);
      Halves<Bytes>::load(second + i, high);
      low = low >> 16 | high;
      std::memcpy(to + i, &low, Bytes);
    }
  }

  template <std::size_t Bytes>
  static RINGRUN_INLINE void words(const float* first, const float* second, std::uint32_t* to) {
    constexpr std::size_t kWords = Bytes / sizeof(std::uint32_t);
    for (std::size_t i = 0; i < kLanes; i += kWords) {
      typename Lanes<Bytes>::Numbers number;
      typename Lanes<Bytes>::Bits low, high;
      std::memcpy(&number, first + i, Bytes);
      Lanes<Bytes>::round(number, low);
      std::memcpy(&number, second + i, Bytes);
      Lanes<Bytes>::round(number, high);
      low = low >> 16 | (high & 0xffff0000u);
      std::memcpy(to + i, &low, Bytes);
    }
  }
};

const float* floatsOf(const MatrixOperand& matrix) { return static_cast<const float*>(matrix.data); }
const std::uint16_t* halvesOf(const MatrixOperand& matrix) { return static_cast<const std::uint16_t*>(matrix.data); }

// For a matrix [inner, columns] whose columns are adjacent: see Interleave.
void interleaveRows(const MatrixOperand& matrix, std::size_t inner, std::size_t columns, std::uint32_t* to, std::size_t stride) {
  const auto interleave = [&](const auto* data) {
    runVectorised<Interleave>(InnerRows<std::remove_cv_t<std::remove_pointer_t<decltype(data)>>>{data, matrix.rowStride, inner, columns}, to, stride);
  };
  if (matrix.isHalf) interleave(halvesOf(matrix));
  else interleave(floatsOf(matrix));
}

// One row of a matrix with adjacent columns in bfloat16, with zeros up to a whole pair.
void copyHalves(const MatrixOperand& row, std::size_t inner, std::uint16_t* to) {
  if (row.isHalf) std::copy_n(halvesOf(row), inner, to);
  else narrow(DType::BFloat16, floatsOf(row), to, inner);
  if (inner % 2 != 0) to[inner] = 0;
}

#undef RINGRUN_INLINE

}  // namespace

void packPanel(const MatrixOperand& right, std::size_t inner, std::size_t width, float* to) {
  if (right.columnStride == 1) return runVectorised<CopyPanel>(floatsOf(right), right.rowStride, inner, width, to);
  if (width < kLanes) std::fill_n(to, inner * kLanes, 0.0f);
  transposeWords({right.data, right.columnStride * sizeof(float), width, inner}, reinterpret_cast<std::uint32_t*>(to), kLanes);
}

void packPanel(const MatrixOperand& right, std::size_t inner, std::size_t width, std::uint16_t* to) {
  const std::size_t padded = paddedInner<std::uint16_t>(inner);
  if (width < kLanes) std::fill_n(to, padded * kLanes, std::uint16_t{0});
  auto* const words = reinterpret_cast<std::uint32_t*>(to);
  if (right.columnStride == 1) return interleaveRows(right, inner, width, words, kLanes);
  if (right.isHalf && inner % 2 == 0) return transposeWords({right.data, right.columnStride * sizeof(std::uint16_t), width, inner / 2}, words, kLanes);
  // Parts of the columns, so that their copies stay in the first-level cache.
  constexpr std::size_t kPart = 256;
  alignas(64) std::uint16_t copies[kLanes][kPart];
  for (std::size_t k = 0; k < inner; k += kPart) {
    const std::size_t count = std::min(kPart, inner - k);
    for (std::size_t j = 0; j < width; ++j) copyHalves(right.from(k, j), count, copies[j]);
    transposeWords({copies, sizeof copies[0], width, paddedInner<std::uint16_t>(count) / 2}, words + k / 2 * kLanes, kLanes);
  }
}

void packRows(const MatrixOperand& left, std::size_t rows, std::size_t inner, float* to) {
  if (left.columnStride != 1) {
    return transposeWords({left.data, left.columnStride * sizeof(float), inner, rows}, reinterpret_cast<std::uint32_t*>(to), inner);
  }
  for (std::size_t row = 0; row < rows; ++row) std::copy_n(floatsOf(left.from(row, 0)), inner, to + row * inner);
}

void packRows(const MatrixOperand& left, std::size_t rows, std::size_t inner, std::uint16_t* to) {
  const std::size_t padded = paddedInner<std::uint16_t>(inner);
  if (left.columnStride == 1) {
    for (std::size_t row = 0; row < rows; ++row) copyHalves(left.from(row, 0), inner, to + row * padded);
    return;
  }
  // The columns of the transpose are the rows.
  const MatrixOperand transpose{left.data, left.isHalf, left.columnStride, 1};
  constexpr std::size_t kPart = 64;
  alignas(64) std::uint32_t pairs[kPart / 2][kPart];
  auto* const words = reinterpret_cast<std::uint32_t*>(to);
  for (std::size_t row = 0; row < rows; row += kPart) {
    const std::size_t height = std::min(kPart, rows - row);
    for (std::size_t k = 0; k < inner; k += kPart) {
      const std::size_t count = std::min(kPart, inner - k);
      interleaveRows(transpose.from(k, row), count, height, pairs[0], kPart);
      transposeWords({pairs, sizeof pairs[0], paddedInner<std::uint16_t>(count) / 2, height}, words + (row * padded + k) / 2, padded / 2);
    }
  }
}

}  // namespace ringrun
