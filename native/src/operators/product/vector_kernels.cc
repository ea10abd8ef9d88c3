#include "operators/product/vector_kernels.h"

#include <cstring>
#include <type_traits>

#include "operators/vectors.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

// One step along `inner`: the rows of a panel that are multiplied together, in vectors of 16 columns.
template <typename T, std::size_t Bytes>
struct Step;

template <std::size_t Bytes>
struct Step<float, Bytes> {
  typedef float Numbers __attribute__((vector_size(Bytes)));
  typedef Numbers Weights;
  typedef float Left;
  static constexpr std::size_t kRows = 1;

  static RINGRUN_INLINE void loadWeights(const float* from, Weights& to) { std::memcpy(&to, from, Bytes); }
  static RINGRUN_INLINE void loadLeft(const float* from, Left& to) { to = *from; }
  static RINGRUN_INLINE void add(const Weights& weights, const Left& left, Numbers& sum) { sum += weights * left; }
};

// A pair of bfloat16 numbers is a word, whose upper half is the second one.
template <std::size_t Bytes>
struct Step<std::uint16_t, Bytes> {
  typedef float Numbers __attribute__((vector_size(Bytes)));
  typedef std::uint32_t Words __attribute__((vector_size(Bytes)));
  struct Weights {
    Numbers first, second;
  };
  struct Left {
    float first, second;
  };
  static constexpr std::size_t kRows = 2;

  static RINGRUN_INLINE void loadWeights(const std::uint16_t* from, Weights& to) {
    Words words;
    std::memcpy(&words, from, Bytes);
    const Words first = words << 16;
    const Words second = words & 0xffff0000u;
    std::memcpy(&to.first, &first, Bytes);
    std::memcpy(&to.second, &second, Bytes);
  }
  static RINGRUN_INLINE void loadLeft(const std::uint16_t* from, Left& to) {
    to.first = BFloat16::widened(from[0]);
    to.second = BFloat16::widened(from[1]);
  }
  static RINGRUN_INLINE void add(const Weights& weights, const Left& left, Numbers& sum) {
    sum += weights.first * left.first;
    sum += weights.second * left.second;
  }
};

// `Rows` rows times `Panels` panels from `panel`, with all sums in registers.
template <std::size_t Bytes, std::size_t Rows, std::size_t Panels, typename T>
RINGRUN_INLINE void multiplyBlock(const PanelProductOf<T>& p, const ProductRun& run, std::size_t row, std::size_t panel) {
  using Steps = Step<T, Bytes>;
  using Numbers = typename Steps::Numbers;
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
  for (std::size_t k = 0; k < run.inner; k += Steps::kRows) {
    typename Steps::Weights weights[kVectors];
#pragma GCC unroll 16
    for (std::size_t v = 0; v < kVectors; ++v) {
      Steps::loadWeights(panels[v / kOfPanel] + k * kLanes + (v % kOfPanel) * kWidth * Steps::kRows, weights[v]);
    }
#pragma GCC unroll 16
    for (std::size_t r = 0; r < Rows; ++r) {
      typename Steps::Left left;
      Steps::loadLeft(from[r] + k, left);
#pragma GCC unroll 16
      for (std::size_t v = 0; v < kVectors; ++v) Steps::add(weights[v], left, sums[r][v]);
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
template <std::size_t Bytes, std::size_t Rows, std::size_t Panels, typename T>
RINGRUN_INLINE void multiplyRows(const PanelProductOf<T>& p, const ProductRun& run, std::size_t& row) {
  const std::size_t begin = row;
  const std::size_t end = begin + (p.rows - begin) / Rows * Rows;
  if (begin == end) return;
  std::size_t panel = 0;
  for (; panel + Panels <= p.count; panel += Panels) {
    for (row = begin; row < end; row += Rows) multiplyBlock<Bytes, Rows, Panels>(p, run, row, panel);
  }
  for (; panel < p.count; ++panel) {
    for (row = begin; row < end; row += Rows) multiplyBlock<Bytes, Rows, 1>(p, run, row, panel);
  }
  row = end;
}

// Blocks as large as the registers of an instruction set allow: 32 of 64 bytes, 16 of fewer.
struct Multiply {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const PanelProductOf<T>& given) {
    const PanelProductOf<T> p = given;
    forEachRun(p, [&](const ProductRun& part) __attribute__((always_inline)) { multiplyRun<Bytes>(p, part); });
  }

 private:
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void multiplyRun(const PanelProductOf<T>& p, const ProductRun& part) {
    constexpr bool kIsWide = std::is_same_v<T, std::uint16_t>;
    std::size_t row = 0;
    if constexpr (Bytes == 64) {
      // The halves of a word take two registers.
      if constexpr (kIsWide) multiplyRows<Bytes, 8, 2>(p, part, row);
      if constexpr (!kIsWide) multiplyRows<Bytes, 8, 3>(p, part, row);
      multiplyRows<Bytes, 4, 4>(p, part, row);
      if constexpr (!kIsWide) multiplyRows<Bytes, 2, 6>(p, part, row);
      multiplyRows<Bytes, 1, 8>(p, part, row);
    } else if constexpr (Bytes == 32) {
      if constexpr (kIsWide) multiplyRows<Bytes, 4, 1>(p, part, row);
      if constexpr (!kIsWide) multiplyRows<Bytes, 6, 1>(p, part, row);
      if constexpr (!kIsWide) multiplyRows<Bytes, 3, 2>(p, part, row);
      multiplyRows<Bytes, 2, 2>(p, part, row);
      multiplyRows<Bytes, 1, 4>(p, part, row);
    } else {
      if constexpr (!kIsWide) multiplyRows<Bytes, 3, 1>(p, part, row);
      multiplyRows<Bytes, 1, 2>(p, part, row);
    }
  }
};

#undef RINGRUN_INLINE

}  // namespace

// 16 bytes: the vectors of every processor, and NEON's.
void multiplyPlain(const PanelProduct& product) { Multiply::run<16>(product); }
void multiplyPlain(const HalfPanelProduct& product) { Multiply::run<16>(product); }

#if defined(__x86_64__)
void multiplyAvx2(const PanelProduct& product) { runWithAvx2<Multiply>(product); }
void multiplyAvx2(const HalfPanelProduct& product) { runWithAvx2<Multiply>(product); }
void multiplyAvx512(const PanelProduct& product) { runWithAvx512<Multiply>(product); }
void multiplyAvx512(const HalfPanelProduct& product) { runWithAvx512<Multiply>(product); }
#endif

}  // namespace ringrun
