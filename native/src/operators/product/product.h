#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "operators/elementwise.h"
#include "operators/product/pack.h"
#include "operators/product/panels.h"

namespace ringrun {

// Adjacent columns of float32 or bfloat16 numbers, rows at a distance of `stride` elements.
struct MatrixResult {
  void* data = nullptr;
  bool isHalf = false;
  std::size_t stride = 0;

  MatrixResult from(std::size_t column) const {
    return {static_cast<char*>(data) + column * (isHalf ? sizeof(std::uint16_t) : sizeof(float)), isHalf, stride};
  }
};

// The last steps of a product, in this order, in float32, while a block of sums is in the first-level cache.
struct ProductEpilogue {
  const float* bias = nullptr;  // [columns], added
  // Null, or computes from the sums, which are its last input, the arrays that are written instead of `to`.
  const ElementwiseProgram* program = nullptr;
  // Element (i, j) of the product belongs to element first + i·stride + j of the arrays of the program, whose periods are
  // multiples of `stride`, or 1.
  const std::vector<ElementwiseInput>* inputs = nullptr;
  const std::vector<void*>* outputs = nullptr;
  std::size_t first = 0;
  std::size_t stride = 0;
};

// to = epilogue(left·right), for left [rows, inner] and right [inner, columns].
struct MatrixProduct {
  std::size_t rows = 0;
  std::size_t inner = 0;
  std::size_t columns = 0;
  MatrixOperand left;
  MatrixOperand right;
  // In bfloat16, to which float32 operands are rounded; otherwise both operands are float32. Sums are float32.
  bool inHalves = false;
  // Adds the product to the float32 numbers of `to`, before the epilogue.
  bool adds = false;
  MatrixResult to;
  ProductEpilogue epilogue;

  std::size_t panels() const { return (columns + 15) / 16; }
};

// Rows and panels of a product that one thread computes at a time.
struct ProductBlock {
  std::size_t firstRow;
  std::size_t endRow;
  std::size_t firstPanel;
  std::size_t endPanel;
};

// The blocks of a product. The bits of the result do not depend on them.
class ProductBlocks {
 public:
  explicit ProductBlocks(const MatrixProduct& product);

  std::size_t count() const { return rowBlocks_ * columnBlocks_; }
  ProductBlock operator[](std::size_t index) const;

 private:
  std::size_t rows_;
  std::size_t panels_;
  std::size_t rowsOfBlock_;
  std::size_t panelsOfBlock_;
  std::size_t rowBlocks_;
  std::size_t columnBlocks_;
};

// The right operand in panels, in float32 words.
class PackedRight {
 public:
  // Memory for the calling thread's next product.
  explicit PackedRight(const MatrixProduct& product);

  // Packs panels first … end − 1.
  void pack(const MatrixProduct& product, std::size_t firstPanel, std::size_t endPanel) const;
  const float* data() const { return data_; }

 private:
  float* data_;
};

void multiplyBlock(const MatrixProduct& product, const PackedRight& right, const ProductBlock& block);

// The products of groups of columns, whose packed operands have at most some MiB.
std::vector<MatrixProduct> columnGroups(const MatrixProduct& product);

// parallelFor(count, body) calls body(i) for every i below `count`, on any threads.
template <typename ParallelFor>
void multiply(const MatrixProduct& product, const ParallelFor& parallelFor) {
  constexpr std::size_t kPanelsOfPart = 16;
  for (const MatrixProduct& group : columnGroups(product)) {
    const PackedRight right(group);
    const std::size_t panels = group.panels();
    parallelFor((panels + kPanelsOfPart - 1) / kPanelsOfPart, [&](std::size_t part) {
      right.pack(group, part * kPanelsOfPart, std::min(panels, (part + 1) * kPanelsOfPart));
    });
    const ProductBlocks blocks(group);
    parallelFor(blocks.count(), [&](std::size_t i) { multiplyBlock(group, right, blocks[i]); });
  }
}

// On the calling thread.
inline void multiply(const MatrixProduct& product) {
  multiply(product, [](std::size_t count, const auto& body) {
    for (std::size_t i = 0; i < count; ++i) body(i);
  });
}

}  // namespace ringrun
