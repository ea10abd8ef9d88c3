#pragma once

#include <cstddef>
#include <cstdint>

namespace ringrun {

template <typename T>
constexpr bool kIsHalf = sizeof(T) == sizeof(std::uint16_t);

// A matrix of float32 or bfloat16 numbers. Element (i, j) is element i·rowStride + j·columnStride of `data`; one of the strides
// is 1.
struct MatrixOperand {
  const void* data = nullptr;
  bool isHalf = false;
  std::size_t rowStride = 0;
  std::size_t columnStride = 1;

  MatrixOperand from(std::size_t row, std::size_t column) const {
    const std::size_t offset = (row * rowStride + column * columnStride) * (isHalf ? sizeof(std::uint16_t) : sizeof(float));
    return {static_cast<const char*>(data) + offset, isHalf, rowStride, columnStride};
  }
};

// Numbers along the inner axis that one word of a panel holds.
template <typename T>
constexpr std::size_t kNumbersOfWord = sizeof(std::uint32_t) / sizeof(T);

// Rows of a panel product: bfloat16 numbers are multiplied in pairs, the last one with a zero.
template <typename T>
constexpr std::size_t paddedInner(std::size_t inner) {
  return (inner + kNumbersOfWord<T> - 1) / kNumbersOfWord<T> * kNumbersOfWord<T>;
}

// Writes a panel (product/panels.h) of `width` columns and zeros in the others, from a right operand [inner, columns] that
// begins with the panel's first column. The panel has paddedInner(inner) rows. float32 numbers are rounded to bfloat16.
void packPanel(const MatrixOperand& right, std::size_t inner, std::size_t width, float* to);
void packPanel(const MatrixOperand& right, std::size_t inner, std::size_t width, std::uint16_t* to);

// True if panel products can read the rows of a left operand [rows, inner] where they are.
template <typename T>
bool hasRowsInPlace(const MatrixOperand& left, std::size_t inner) {
  return left.columnStride == 1 && left.isHalf == kIsHalf<T> && paddedInner<T>(inner) == inner;
}

// Writes the rows of a left operand one after another, each of paddedInner(inner) numbers.
void packRows(const MatrixOperand& left, std::size_t rows, std::size_t inner, float* to);
void packRows(const MatrixOperand& left, std::size_t rows, std::size_t inner, std::uint16_t* to);

}  // namespace ringrun
