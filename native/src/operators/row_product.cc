#include "operators/row_product.h"

#include <algorithm>

#include "operators/vectors.h"
#include "reduce/widen.h"

namespace ringrun {

std::size_t RowProduct::padded(std::size_t columns) { return (columns + kLanes - 1) / kLanes * kLanes; }

template <typename T>
void RowProduct::pack(const MatrixOperand& matrix, std::size_t columns, const T** panels, T* to) const {
  const std::size_t size = paddedInner<T>(inner_) * kLanes;
  for (std::size_t column = 0; column < columns; column += kLanes, ++panels, to += size) {
    packPanel(matrix.from(0, column), inner_, std::min(kLanes, columns - column), to);
    *panels = to;
  }
}

void RowProduct::store(const MatrixOperand& matrix, std::size_t inner, std::size_t columns) {
  isHalf_ = matrix.isHalf;
  inner_ = inner;
  const std::size_t panels = padded(columns) / kLanes;
  if (isHalf_) {
    halfPanels_.resize(panels);
    pack(matrix, columns, halfPanels_.data(), halfElements_.resize(paddedInner<std::uint16_t>(inner) * padded(columns)));
  } else {
    panels_.resize(panels);
    pack(matrix, columns, panels_.data(), elements_.resize(inner * padded(columns)));
  }
}

void RowProduct::multiply(const float* const* from, const float* const* start, float* const* to, std::size_t rows) const {
  if (!isHalf_) return multiplyPanels({panels_.data(), panels_.size(), inner_, from, start, to, rows});
  thread_local Aligned<std::uint16_t> copies;
  thread_local std::vector<const std::uint16_t*> narrowed;
  const std::size_t inner = paddedInner<std::uint16_t>(inner_);
  std::uint16_t* const memory = copies.resize(rows * inner);
  narrowed.resize(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    std::uint16_t* const copy = memory + row * inner;
    narrow(DType::BFloat16, from[row], copy, inner_);
    if (inner > inner_) copy[inner_] = 0;
    narrowed[row] = copy;
  }
  multiplyPanels(HalfPanelProduct{halfPanels_.data(), halfPanels_.size(), inner, narrowed.data(), start, to, rows});
}

}  // namespace ringrun
