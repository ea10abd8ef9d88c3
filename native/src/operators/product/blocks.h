#pragma once

#include <cstring>
#include <type_traits>

#include "operators/product/panels.h"
#include "operators/vectors.h"

// Products of panels in blocks of rows and panels whose sums stay in registers, for any way to add terms. Step is a class for one
// vector of `Bytes`:
//
//   using Element = …;
//   static constexpr std::size_t kRows = …;   rows of the matrix in one step
//   static constexpr bool kIsLarge = …;       true if weights of a vector take two registers
//   struct Weights, Left;                     elements of a panel and of a row of the left operand for one step
//   static void loadWeights(const Element* panel, Weights& to);
//   static void loadLeft(const Element* row, Left& to);
//   static void add(const Weights& weights, const Left& left, Numbers& sums);

namespace ringrun {

#define RINGRUN_INLINE inline __attribute__((always_inline))

// Rows of the matrix that are summed at once: the partial sums of a long product stay small, which keeps their rounding
// error small, and three panels of that many rows stay in a first-level cache.
template <typename T>
constexpr std::size_t kRowsOfRun = 192 * sizeof(float) / sizeof(T);

template <typename Step, std::size_t Bytes>
class ProductBlocksOf {
  using T = typename Step::Element;
  typedef float Numbers __attribute__((vector_size(Bytes)));

 public:
  static RINGRUN_INLINE void multiply(const PanelProductOf<T>& given) {
    const PanelProductOf<T> p = given;
    std::size_t first = 0;
    do {
      const std::size_t inner = std::min(kRowsOfRun<T>, p.inner - first);
      multiplyRun(p, {first, inner, first == 0 ? p.start : p.to});
      first += inner;
    } while (first < p.inner);
  }

 private:
  // Rows first … first + inner − 1 of the matrix; `start` as in PanelProductOf.
  struct Run {
    std::size_t first;
    std::size_t inner;
    const float* const* start;
  };

  // `Rows` rows times `Panels` panels from `panel`, with all sums in registers.
  template <std::size_t Rows, std::size_t Panels>
  static RINGRUN_INLINE void multiplyBlock(const PanelProductOf<T>& p, const Run& run, std::size_t row, std::size_t panel) {
    constexpr std::size_t kWidth = Bytes / sizeof(float);
    constexpr std::size_t kOfPanel = kLanes / kWidth;
    constexpr std::size_t kVectors = Panels * kOfPanel;
    const std::size_t column = panel * kLanes;
    Numbers sums[Rows][kVectors];
    const T* from[Rows];
#pragma GCC unroll 16
    for (std::size_t r = 0; r < Rows; ++r) {
      from[r] = p.from[row + r] + run.first;
#pragma GCC unroll 16
      for (std::size_t v = 0; v < kVectors; ++v) sums[r][v] = Numbers{};
    }
    const T* panels[Panels];
#pragma GCC unroll 16
    for (std::size_t q = 0; q < Panels; ++q) panels[q] = p.panels[panel + q] + run.first * kLanes;
    for (std::size_t k = 0; k < run.inner; k += Step::kRows) {
      typename Step::Weights weights[kVectors];
#pragma GCC unroll 16
      for (std::size_t v = 0; v < kVectors; ++v) {
        Step::loadWeights(panels[v / kOfPanel] + k * kLanes + (v % kOfPanel) * kWidth * Step::kRows, weights[v]);
      }
#pragma GCC unroll 16
      for (std::size_t r = 0; r < Rows; ++r) {
        typename Step::Left left;
        Step::loadLeft(from[r] + k, left);
#pragma GCC unroll 16
        for (std::size_t v = 0; v < kVectors; ++v) Step::add(weights[v], left, sums[r][v]);
      }
    }
#pragma GCC unroll 16
    for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
      for (std::size_t v = 0; v < kVectors; ++v) {
        if (run.start != nullptr) {
          Numbers before;
          std::memcpy(&before, run.start[row + r] + column + v * kWidth, Bytes);
          sums[r][v] += before;
        }
        std::memcpy(p.to[row + r] + column + v * kWidth, &sums[r][v], Bytes);
      }
    }
  }

  // Adds blocks of `Rows` rows and `Panels` panels while enough remain, first of the rows, then of the panels.
  template <std::size_t Rows, std::size_t Panels>
  static RINGRUN_INLINE void multiplyRows(const PanelProductOf<T>& p, const Run& run, std::size_t& row) {
    const std::size_t begin = row;
    const std::size_t end = begin + (p.rows - begin) / Rows * Rows;
    if (begin == end) return;
    std::size_t panel = 0;
    for (; panel + Panels <= p.count; panel += Panels) {
      for (row = begin; row < end; row += Rows) multiplyBlock<Rows, Panels>(p, run, row, panel);
    }
    for (; panel < p.count; ++panel) {
      for (row = begin; row < end; row += Rows) multiplyBlock<Rows, 1>(p, run, row, panel);
    }
    row = end;
  }

  // Blocks as large as the registers of an instruction set allow: 32 of 64 bytes, 16 of fewer.
  static RINGRUN_INLINE void multiplyRun(const PanelProductOf<T>& p, const Run& run) {
    std::size_t row = 0;
    if constexpr (Bytes == 64) {
      multiplyRows<8, Step::kIsLarge ? 2 : 3>(p, run, row);
      multiplyRows<4, 4>(p, run, row);
      if constexpr (!Step::kIsLarge) multiplyRows<2, 6>(p, run, row);
      multiplyRows<1, 8>(p, run, row);
    } else if constexpr (Bytes == 32) {
      multiplyRows<Step::kIsLarge ? 4 : 6, 1>(p, run, row);
      if constexpr (!Step::kIsLarge) multiplyRows<3, 2>(p, run, row);
      multiplyRows<2, Step::kIsLarge ? 2 : 3>(p, run, row);
      multiplyRows<1, 4>(p, run, row);
    } else {
      if constexpr (!Step::kIsLarge) multiplyRows<3, 1>(p, run, row);
      multiplyRows<1, Step::kIsLarge ? 2 : 3>(p, run, row);
    }
  }
};

#undef RINGRUN_INLINE

}  // namespace ringrun
