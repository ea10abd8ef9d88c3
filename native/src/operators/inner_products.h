#pragma once

#include <cstddef>

namespace ringrun {

// The inner products of all pairs of a few long rows: left[i]·right[j], of `length` elements each.
//
// Every product is summed in 16 lanes, sums[i, j, lane] over the elements k with k mod 16 = lane, which `sumOfLanes` adds
// up. So rows can be processed in parts, nothing is transposed, and bits do not depend on the number of rows.
struct InnerProducts {
  const float* const* left;
  std::size_t leftRows;
  const float* const* right;
  std::size_t rightRows;
  std::size_t length;
};

constexpr std::size_t kLanesOfInnerProduct = 16;

// Writes the sums, or adds to them. Lengths of earlier parts must be multiples of 16 for the lanes above; otherwise lanes
// differ, but their sum is still the product.
void innerProducts(const InnerProducts& products, bool adds, float* sums);

// ((0 + 8) + (4 + 12)) + …
float sumOfLanes(const float* lanes);

}  // namespace ringrun
