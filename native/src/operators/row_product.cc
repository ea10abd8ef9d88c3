#include "operators/row_product.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "operators/vectors.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

// Rows of the matrix that are summed at once: the partial sums of a long product stay small, which keeps their rounding
// error small, and three panels of that many rows stay in a first-level cache.
constexpr std::size_t kInner = 192;

struct Part {
  std::size_t first;
  std::size_t inner;
  const float* const* start;
};

// `Rows` rows times `Panels` panels from `panel`, with all sums in registers.
template <std::size_t Bytes, std::size_t Rows, std::size_t Panels>
RINGRUN_INLINE void multiplyBlock(const PanelProduct& p, const Part& part, std::size_t row, std::size_t panel) {
  typedef float Numbers __attribute__((vector_size(Bytes)));
  constexpr std::size_t kWidth = Bytes / sizeof(float);
  constexpr std::size_t kOfPanel = kLanes / kWidth;
  constexpr std::size_t kVectors = Panels * kOfPanel;
  const std::size_t column = panel * kLanes;
  Numbers sums[Rows][kVectors];
  const float* from[Rows];
#pragma GCC unroll 16
  for (std::size_t r = 0; r < Rows; ++r) {
    from[r] = p.from[row + r] + part.first;
#pragma GCC unroll 16
    for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = Numbers{};
  }
  const float* panels[Panels];
#pragma GCC unroll 16
  for (std::size_t q = 0; q < Panels; ++q) panels[q] = p.panels[panel + q] + part.first * kLanes;
  for (std::size_t k = 0; k < part.inner; ++k) {
    Numbers weights[kVectors];
#pragma GCC unroll 16
    for (std::size_t v = 0; v < kVectors; ++v) {
      std::memcpy(&weights[v], panels[v / kOfPanel] + k * kLanes + (v % kOfPanel) * kWidth, Bytes);
    }
#pragma GCC unroll 16
    for (std::size_t r = 0; r < Rows; ++r) {
      const float element = from[r][k];
#pragma GCC unroll 16
      for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] += weights[v] * element;
    }
  }
#pragma GCC unroll 16
  for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
    for (std::size_t v = 0; v < kVectors; ++v) {
      if (part.start != nullptr) {
        Numbers before;
        std::memcpy(&before, part.start[row + r] + column + v * kWidth, Bytes);
        sums[r][v] += before;
      }
      std::memcpy(p.to[row + r] + column + v * kWidth, &sums[r][v], Bytes);
    }
  }
}

// Adds blocks of `Rows` rows and `Panels` panels while enough remain, first of the rows, then of the panels.
template <std::size_t Bytes, std::size_t Rows, std::size_t Panels>
RINGRUN_INLINE void multiplyRows(const PanelProduct& p, const Part& part, std::size_t& row) {
  const std::size_t begin = row;
  const std::size_t end = begin + (p.rows - begin) / Rows * Rows;
  if (begin == end) return;
  std::size_t panel = 0;
  for (; panel + Panels <= p.count; panel += Panels) {
    for (row = begin; row < end; row += Rows) multiplyBlock<Bytes, Rows, Panels>(p, part, row, panel);
  }
  for (; panel < p.count; ++panel) {
    for (row = begin; row < end; row += Rows) multiplyBlock<Bytes, Rows, 1>(p, part, row, panel);
  }
  row = end;
}

// Blocks as large as the registers of an instruction set allow: 32 of 64 bytes, 16 of fewer.
struct Multiply {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const PanelProduct& given) {
    const PanelProduct p = given;
    multiplyPart<Bytes>(p, {0, std::min(kInner, p.inner), p.start});
    for (std::size_t first = kInner; first < p.inner; first += kInner) {
      multiplyPart<Bytes>(p, {first, std::min(kInner, p.inner - first), p.to});
    }
  }

 private:
  template <std::size_t Bytes>
  static RINGRUN_INLINE void multiplyPart(const PanelProduct& p, const Part& part) {
    std::size_t row = 0;
    if constexpr (Bytes == 64) {
      multiplyRows<Bytes, 8, 3>(p, part, row);
      multiplyRows<Bytes, 4, 4>(p, part, row);
      multiplyRows<Bytes, 2, 6>(p, part, row);
      multiplyRows<Bytes, 1, 8>(p, part, row);
    } else if constexpr (Bytes == 32) {
      multiplyRows<Bytes, 6, 1>(p, part, row);
      multiplyRows<Bytes, 3, 2>(p, part, row);
      multiplyRows<Bytes, 2, 3>(p, part, row);
      multiplyRows<Bytes, 1, 4>(p, part, row);
    } else {
      multiplyRows<Bytes, 3, 1>(p, part, row);
      multiplyRows<Bytes, 1, 3>(p, part, row);
    }
  }
};

#undef RINGRUN_INLINE

}  // namespace

void AlignedFloats::resize(std::size_t count) {
  constexpr std::size_t kAlignment = 64;
  memory_.resize(std::max(memory_.size(), count + kAlignment / sizeof(float)));
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
  data_ = memory_.data() + (kAlignment - address % kAlignment) % kAlignment / sizeof(float);
}

void multiplyPanels(const PanelProduct& product) { runVectorised<Multiply>(product); }

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
