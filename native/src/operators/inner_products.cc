#include "operators/inner_products.h"

#include <algorithm>
#include <array>

#include "operators/vectors.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

static_assert(kLanesOfInnerProduct == kLanes, "sums are stored as Lanes");

// A block of `Left` times `Right` products, with all sums in registers.
template <std::size_t Bytes, std::size_t Left, std::size_t Right>
RINGRUN_INLINE void addBlock(const InnerProducts& p, bool adds, std::size_t i, std::size_t j, float* sums) {
  Lanes<Bytes> block[Left][Right] = {};
  const float* left[Left];
  const float* right[Right];
#pragma GCC unroll 8
  for (std::size_t a = 0; a < Left; ++a) left[a] = p.left[i + a];
#pragma GCC unroll 8
  for (std::size_t b = 0; b < Right; ++b) right[b] = p.right[j + b];
  const auto add = [&](std::size_t k, std::size_t lanes) __attribute__((always_inline)) {
    Lanes<Bytes> ofRight[Right];
#pragma GCC unroll 8
    for (std::size_t b = 0; b < Right; ++b) ofRight[b].load(right[b] + k, lanes, 0);
#pragma GCC unroll 8
    for (std::size_t a = 0; a < Left; ++a) {
      Lanes<Bytes> ofLeft;
      ofLeft.load(left[a] + k, lanes, 0);
#pragma GCC unroll 8
      for (std::size_t b = 0; b < Right; ++b) {
#pragma GCC unroll 4
        for (std::size_t v = 0; v < Lanes<Bytes>::kVectors; ++v) block[a][b][v] += ofLeft[v] * ofRight[b][v];
      }
    }
  };
  const std::size_t whole = p.length / kLanes * kLanes;
  for (std::size_t k = 0; k < whole; k += kLanes) add(k, kLanes);
  if (whole < p.length) add(whole, p.length - whole);
#pragma GCC unroll 8
  for (std::size_t a = 0; a < Left; ++a) {
#pragma GCC unroll 8
    for (std::size_t b = 0; b < Right; ++b) {
      float* const to = sums + ((i + a) * p.rightRows + j + b) * kLanes;
      if (adds) {
        Lanes<Bytes> before;
        before.load(to);
#pragma GCC unroll 4
        for (std::size_t v = 0; v < Lanes<Bytes>::kVectors; ++v) block[a][b][v] += before[v];
      }
      block[a][b].store(to);
    }
  }
}

// Blocks as large as the registers of an instruction set allow: 32 of 64 bytes, 16 of fewer.
struct AddProducts {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const InnerProducts& given, bool adds, float* sums) {
    const InnerProducts p = given;
    constexpr std::size_t kLeft = Bytes == 64 ? 4 : Bytes == 32 ? 2 : 1;
    constexpr std::size_t kRight = Bytes == 64 ? 6 : 2;
    std::size_t i = 0;
    for (; i + kLeft <= p.leftRows; i += kLeft) addRow<Bytes, kLeft, kRight>(p, adds, i, sums);
    for (; i < p.leftRows; ++i) addRow<Bytes, 1, kRight>(p, adds, i, sums);
  }

 private:
  template <std::size_t Bytes, std::size_t Left, std::size_t Right>
  static RINGRUN_INLINE void addRow(const InnerProducts& p, bool adds, std::size_t i, float* sums) {
    std::size_t j = 0;
    for (; j + Right <= p.rightRows; j += Right) addBlock<Bytes, Left, Right>(p, adds, i, j, sums);
    for (; j + 2 <= p.rightRows; j += 2) addBlock<Bytes, Left, 2>(p, adds, i, j, sums);
    if (j < p.rightRows) addBlock<Bytes, Left, 1>(p, adds, i, j, sums);
  }
};

#undef RINGRUN_INLINE

}  // namespace

void innerProducts(const InnerProducts& products, bool adds, float* sums) { runVectorised<AddProducts>(products, adds, sums); }

float sumOfLanes(const float* lanes) {
  std::array<float, kLanes> sums;
  std::copy_n(lanes, kLanes, sums.begin());
  for (std::size_t width = kLanes / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) sums[i] += sums[i + width];
  }
  return sums[0];
}

}  // namespace ringrun
