#include "operators/row_product.h"

#include "operators/vectors.h"

namespace ringrun {

std::size_t RowProduct::padded(std::size_t columns) { return (columns + kLanes - 1) / kLanes * kLanes; }

void RowProduct::store(const float* elements, std::size_t inner, std::size_t columns, std::size_t innerStride, std::size_t columnStride) {
  inner_ = inner;
  panels_.resize(padded(columns) / kLanes);
  elements_.resize(inner * padded(columns));
  for (std::size_t panel = 0; panel < panels_.size(); ++panel) {
    float* const to = elements_.data() + panel * inner * kLanes;
    panels_[panel] = to;
    for (std::size_t k = 0; k < inner; ++k) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::size_t column = panel * kLanes + lane;
        to[k * kLanes + lane] = column < columns ? elements[k * innerStride + column * columnStride] : 0;
      }
    }
  }
}

void RowProduct::multiply(const float* const* from, const float* const* start, float* const* to, std::size_t rows) const {
  multiplyPanels({panels_.data(), panels_.size(), inner_, from, start, to, rows});
}

}  // namespace ringrun
