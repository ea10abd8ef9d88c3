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

// The pairs of two rows as words. `second` may be null, which is 0.
template <typename T>
struct PairRows {
  const T* first;
  const T* second;
  std::size_t count;
};

struct Interleave {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const PairRows<T>& rows, std::uint32_t* to) {
    for (std::size_t i = 0; i < rows.count; i += kLanes) {
      const std::size_t count = std::min(kLanes, rows.count - i);
      std::uint16_t first[kLanes], second[kLanes];
      halves<Bytes>(rows.first + i, count, first);
      if (rows.second == nullptr) std::memset(second, 0, sizeof second);
      else halves<Bytes>(rows.second + i, count, second);
      if (count == kLanes) {
        words<Bytes>(first, second, to + i);
      } else {
        std::uint32_t some[kLanes];
        words<Bytes>(first, second, some);
        std::copy_n(some, count, to + i);
      }
    }
  }

 private:
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void halves(const T* from, std::size_t count, std::uint16_t (&to)[kLanes]) {
    if constexpr (kIsHalf<T>) {
      if (count == kLanes) {
        std::memcpy(to, from, sizeof to);
      } else {
        for (std::size_t i = 0; i < kLanes; ++i) to[i] = i < count ? from[i] : std::uint16_t{0};
      }
    } else {
      Lanes<Bytes> numbers;
      numbers.load(from, count, 0);
      numbers.store(to);
    }
  }

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
};

const float* floatsOf(const MatrixOperand& matrix) { return static_cast<const float*>(matrix.data); }
const std::uint16_t* halvesOf(const MatrixOperand& matrix) { return static_cast<const std::uint16_t*>(matrix.data); }

// Pairs of the rows of a matrix [inner, columns] whose columns are adjacent: pair k/2 is at to + k/2·stride.
void interleaveRows(const MatrixOperand& matrix, std::size_t inner, std::size_t columns, std::uint32_t* to, std::size_t stride) {
  const auto interleave = [&](const auto* rows) {
    for (std::size_t k = 0; k < inner; k += 2) {
      const auto* const first = rows + k * matrix.rowStride;
      runVectorised<Interleave>(PairRows<std::remove_cv_t<std::remove_pointer_t<decltype(rows)>>>{
                                    first, k + 1 < inner ? first + matrix.rowStride : nullptr, columns},
                                to + k / 2 * stride);
    }
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
