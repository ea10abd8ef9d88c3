#include "operators/product/product.h"

#include <algorithm>
#include <optional>

#include "operators/vectors.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

// Rows and panels of the sums that an epilogue reads from the first-level cache.
constexpr std::size_t kRows = 32;
constexpr std::size_t kPanels = 6;

// A row of a block of sums, from a column of the result on.
struct SumsOfRow {
  float* sums;
  std::size_t row;
  std::size_t column;
  std::size_t count;
};

template <std::size_t Bytes>
RINGRUN_INLINE void add(const MatrixOperand& matrix, std::size_t count, Lanes<Bytes>& to) {
  Lanes<Bytes> other;
  if (matrix.isHalf) other.load(static_cast<const std::uint16_t*>(matrix.data), count, 0);
  else other.load(static_cast<const float*>(matrix.data), count, 0);
  for (std::size_t v = 0; v < Lanes<Bytes>::kVectors; ++v) to[v] += other[v];
}

template <std::size_t Bytes>
RINGRUN_INLINE void store(const Lanes<Bytes>& from, const MatrixResult& to, std::size_t row, std::size_t column, std::size_t count) {
  const std::size_t at = row * to.stride + column;
  if (to.isHalf) from.store(static_cast<std::uint16_t*>(to.data) + at, count);
  else from.store(static_cast<float*>(to.data) + at, count);
}

// Without a program, the sums are stored as results.
struct Finish {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const MatrixProduct& p, const SumsOfRow& row) {
    for (std::size_t i = 0; i < row.count; i += kLanes) {
      const std::size_t count = std::min(kLanes, row.count - i);
      const std::size_t column = row.column + i;
      Lanes<Bytes> numbers;
      numbers.load(row.sums + i);
      if (p.adds) add<Bytes>(MatrixOperand{p.to.data, false, p.to.stride}.from(row.row, column), count, numbers);
      if (p.epilogue.bias != nullptr) add<Bytes>(MatrixOperand{p.epilogue.bias + column}, count, numbers);
      if (p.epilogue.program != nullptr) numbers.store(row.sums + i);
      else store(numbers, p.to, row.row, column, count);
    }
  }
};

#undef RINGRUN_INLINE

bool hasSteps(const MatrixProduct& p) { return p.adds || p.epilogue.bias != nullptr || p.epilogue.program != nullptr || p.to.isHalf; }

void finish(const MatrixProduct& p, const SumsOfRow& row, std::optional<ElementwiseRun>& program) {
  if (!program || p.adds || p.epilogue.bias != nullptr) runVectorised<Finish>(p, row);
  if (program) program->compute(p.epilogue.first + row.row * p.epilogue.stride + row.column, row.count, row.sums);
}

template <typename T>
T* elementsOf(const AlignedFloats& memory) {
  return reinterpret_cast<T*>(memory.data());
}

template <typename T>
void packPanels(const MatrixProduct& p, std::size_t firstPanel, std::size_t endPanel, T* packed) {
  const std::size_t size = paddedInner<T>(p.inner) * kLanes;
  for (std::size_t panel = firstPanel; panel < endPanel; ++panel) {
    const std::size_t column = panel * kLanes;
    packPanel(p.right.from(0, column), p.inner, std::min(kLanes, p.columns - column), packed + panel * size);
  }
}

template <typename T>
void multiplyBlockOf(const MatrixProduct& p, const T* packed, const ProductBlock& block) {
  thread_local AlignedFloats copies;
  alignas(64) float sums[kRows][kPanels * kLanes];
  const std::size_t inner = paddedInner<T>(p.inner);
  const bool isInPlace = hasRowsInPlace<T>(p.left, p.inner);
  const MatrixOperand left = p.left.from(block.firstRow, 0);
  if (!isInPlace) {
    const std::size_t rows = block.endRow - block.firstRow;
    copies.resize((rows * inner * sizeof(T) + sizeof(float) - 1) / sizeof(float));
    packRows(left, rows, p.inner, elementsOf<T>(copies));
  }
  const T* const first = isInPlace ? static_cast<const T*>(left.data) : elementsOf<T>(copies);
  const std::size_t stride = isInPlace ? left.rowStride : inner;
  std::optional<ElementwiseRun> program;
  if (p.epilogue.program != nullptr) program.emplace(*p.epilogue.program, *p.epilogue.inputs, *p.epilogue.outputs);
  // Sums are results where nothing remains to be done, except those of a panel with fewer columns.
  const std::size_t wholePanels = hasSteps(p) ? 0 : p.columns / kLanes;
  for (std::size_t panel = block.firstPanel; panel < block.endPanel;) {
    const bool isWhole = panel < wholePanels;
    const std::size_t count = std::min(kPanels, (isWhole ? std::min(wholePanels, block.endPanel) : block.endPanel) - panel);
    const std::size_t column = panel * kLanes;
    const std::size_t columns = std::min(count * kLanes, p.columns - column);
    const T* panels[kPanels];
    for (std::size_t q = 0; q < count; ++q) panels[q] = packed + (panel + q) * inner * kLanes;
    for (std::size_t row = block.firstRow; row < block.endRow; row += kRows) {
      const std::size_t rows = std::min(kRows, block.endRow - row);
      const T* from[kRows];
      float* to[kRows];
      for (std::size_t r = 0; r < rows; ++r) {
        from[r] = first + (row - block.firstRow + r) * stride;
        to[r] = isWhole ? static_cast<float*>(p.to.data) + (row + r) * p.to.stride + column : sums[r];
      }
      multiplyPanels(PanelProductOf<T>{panels, count, inner, from, nullptr, to, rows});
      for (std::size_t r = 0; r < rows && !isWhole; ++r) finish(p, {sums[r], row + r, column, columns}, program);
    }
    panel += count;
  }
}

constexpr std::size_t ceilDivided(std::size_t count, std::size_t by) { return (count + by - 1) / by; }

}  // namespace

// The rows of a block are read for each group of panels, so they stay in the second-level cache beside the panels. Few rows
// are divided by columns, so that several threads have work.
ProductBlocks::ProductBlocks(const MatrixProduct& product) : rows_(product.rows), panels_(product.panels()) {
  constexpr std::size_t kBytesOfLeft = std::size_t{1} << 18;
  constexpr std::size_t kMostRows = 512;
  constexpr std::size_t kFewBlocks = 4;
  const std::size_t bytesOfRow = std::max<std::size_t>(1, product.inner * (product.inHalves ? sizeof(std::uint16_t) : sizeof(float)));
  const std::size_t fitting = std::min(kMostRows, kBytesOfLeft / bytesOfRow) / kRows * kRows;
  rowsOfBlock_ = std::max(kRows, fitting);
  rowBlocks_ = ceilDivided(rows_, rowsOfBlock_);
  panelsOfBlock_ = std::max<std::size_t>(1, panels_);
  if (rowBlocks_ < kFewBlocks) panelsOfBlock_ = ceilDivided(ceilDivided(panelsOfBlock_, kFewBlocks), kPanels) * kPanels;
  columnBlocks_ = ceilDivided(panels_, panelsOfBlock_);
}

ProductBlock ProductBlocks::operator[](std::size_t index) const {
  const std::size_t row = index / columnBlocks_ * rowsOfBlock_;
  const std::size_t panel = index % columnBlocks_ * panelsOfBlock_;
  return {row, std::min(rows_, row + rowsOfBlock_), panel, std::min(panels_, panel + panelsOfBlock_)};
}

PackedRight::PackedRight(const MatrixProduct& p) {
  thread_local AlignedFloats memory;
  memory.resize(p.panels() * kLanes * (p.inHalves ? paddedInner<std::uint16_t>(p.inner) / 2 : p.inner));
  data_ = memory.data();
}

void PackedRight::pack(const MatrixProduct& p, std::size_t firstPanel, std::size_t endPanel) const {
  if (p.inHalves) packPanels(p, firstPanel, endPanel, reinterpret_cast<std::uint16_t*>(data_));
  else packPanels(p, firstPanel, endPanel, data_);
}

void multiplyBlock(const MatrixProduct& p, const PackedRight& right, const ProductBlock& block) {
  if (p.inHalves) multiplyBlockOf(p, reinterpret_cast<const std::uint16_t*>(right.data()), block);
  else multiplyBlockOf(p, right.data(), block);
}

std::vector<MatrixProduct> columnGroups(const MatrixProduct& product) {
  constexpr std::size_t kPackedBytes = std::size_t{8} << 20;
  const std::size_t bytesOfPanel = std::max<std::size_t>(1, product.inner) * kLanes * (product.inHalves ? sizeof(std::uint16_t) : sizeof(float));
  const std::size_t columns = std::max(kPanels, kPackedBytes / bytesOfPanel / kPanels * kPanels) * kLanes;
  std::vector<MatrixProduct> groups;
  for (std::size_t column = 0; column < product.columns; column += columns) {
    MatrixProduct group = product;
    group.columns = std::min(columns, product.columns - column);
    group.right = product.right.from(0, column);
    if (product.to.data != nullptr) group.to = product.to.from(column);
    ProductEpilogue& epilogue = group.epilogue;
    if (epilogue.bias != nullptr) epilogue.bias += column;
    epilogue.first += column;
    groups.push_back(group);
  }
  return groups;
}

}  // namespace ringrun
