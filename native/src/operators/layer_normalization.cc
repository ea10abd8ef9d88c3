#include "operators/layer_normalization.h"

#include <algorithm>
#include <cmath>

#include "operators/vectors.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

// Elements whose sum is in float32: at most 32 in each lane.
constexpr std::size_t kRowBlock = 512;

struct LayerStatistics {
  template <std::size_t Bytes, typename X>
  static RINGRUN_INLINE void run(const X* x, std::size_t count, float epsilon, RowStatistics& to) {
    Lanes<Bytes> v, sums;
    double sum = 0;
    for (std::size_t block = 0; block < count; block += kRowBlock) {
      const std::size_t end = std::min(count, block + kRowBlock);
      sums.fill(0);
      for (std::size_t i = block; i < end; i += kLanes) {
        v.load(x + i, end - i, 0);
        for (std::size_t k = 0; k < v.kVectors; ++k) sums[k] += v[k];
      }
      sum += sums.sum();
    }
    to.mean = static_cast<float>(sum / static_cast<double>(count));
    double squares = 0;
    for (std::size_t block = 0; block < count; block += kRowBlock) {
      const std::size_t end = std::min(count, block + kRowBlock);
      sums.fill(0);
      for (std::size_t i = block; i < end; i += kLanes) {
        v.load(x + i, end - i, to.mean);
        for (std::size_t k = 0; k < v.kVectors; ++k) {
          const auto centered = v[k] - to.mean;
          sums[k] += centered * centered;
        }
      }
      squares += sums.sum();
    }
    to.inverse = static_cast<float>(1 / std::sqrt(squares / static_cast<double>(count) + static_cast<double>(epsilon)));
  }
};

// Without `narrows`, `narrow` is null and `y` is not: g++ 12 keeps both tests in the loop.
template <bool narrows>
struct LayerNormalized {
  template <std::size_t Bytes, typename X>
  static RINGRUN_INLINE void run(const X* x, std::size_t count, const RowStatistics& given, const float* weight, const float* bias, X* y,
                                 std::uint16_t* narrow) {
    const RowStatistics statistics = given;
    Lanes<Bytes> v, w, b;
    for (std::size_t i = 0; i < count; i += kLanes) {
      v.load(x + i, count - i, 0);
      for (auto& vector : v.vectors) vector = (vector - statistics.mean) * statistics.inverse;
      if (weight != nullptr) {
        w.load(weight + i, count - i, 0);
        for (std::size_t k = 0; k < v.kVectors; ++k) v[k] *= w[k];
      }
      if (bias != nullptr) {
        b.load(bias + i, count - i, 0);
        for (std::size_t k = 0; k < v.kVectors; ++k) v[k] += b[k];
      }
      if (!narrows || y != nullptr) v.store(y + i, count - i);
      if (narrows) v.store(narrow + i, count - i);
    }
  }
};

struct RowSum {
  template <std::size_t Bytes, typename A, typename B>
  static RINGRUN_INLINE void run(const A* a, const B* b, std::size_t count, SumOf<A, B>* to) {
    Lanes<Bytes> sum, other;
    for (std::size_t i = 0; i < count; i += kLanes) {
      sum.load(a + i, count - i, 0);
      other.load(b + i, count - i, 0);
      for (std::size_t k = 0; k < sum.kVectors; ++k) sum[k] += other[k];
      sum.store(to + i, count - i);
    }
  }
};

// A product as it is rounded: never part of a fused multiplication and addition. clang fuses only within one expression, and
// compares the operands of assembler with the instruction set of this function before it inlines it.
template <typename Vector>
RINGRUN_INLINE void rounded(Vector& product) {
#if defined(__clang__)
  static_cast<void>(product);
#elif defined(__x86_64__)
  asm("" : "+v"(product));
#elif defined(__aarch64__)
  asm("" : "+w"(product));
#endif
}

// With z the normalized row, g = dy·weight and m the mean over the row: dx = (g − m(g) − z·m(g·z))·inverse.
//
// Without `extends`, `other` and `narrow` are null.
template <bool extends>
struct LayerGradient {
  template <std::size_t Bytes, typename X, typename Y>
  static RINGRUN_INLINE void run(const RowGradient<X, Y>& given) {
    const RowGradient<X, Y> row = given;
    const bool isWritten = row.dx != nullptr || (extends && row.narrow != nullptr);
    double sum = 0;
    double products = 0;
    Lanes<Bytes> z, d, g, w;
    w.fill(1);
    // Lanes beyond the last element add 0.
    const auto load = [&](std::size_t i) __attribute__((always_inline)) {
      z.load(row.x + i, row.count - i, row.statistics.mean);
      d.load(row.dy + i, row.count - i, 0);
      if (row.weight != nullptr) w.load(row.weight + i, row.count - i, 0);
      for (std::size_t k = 0; k < z.kVectors; ++k) {
        z[k] = (z[k] - row.statistics.mean) * row.statistics.inverse;
        g[k] = d[k] * w[k];
        // In a row of one element, g − m(g) is exactly 0 then.
        rounded(g[k]);
      }
    };
    if (isWritten) {
      for (std::size_t block = 0; block < row.count; block += kRowBlock) {
        const std::size_t end = std::min(row.count, block + kRowBlock);
        Lanes<Bytes> sums, sumsOfProducts;
        sums.fill(0);
        sumsOfProducts.fill(0);
        for (std::size_t i = block; i < end; i += kLanes) {
          load(i);
          for (std::size_t k = 0; k < z.kVectors; ++k) {
            sums[k] += g[k];
            sumsOfProducts[k] += g[k] * z[k];
          }
        }
        sum += sums.sum();
        products += sumsOfProducts.sum();
      }
    }
    const auto mean = static_cast<float>(sum / static_cast<double>(row.count));
    const auto meanOfProducts = static_cast<float>(products / static_cast<double>(row.count));
    Lanes<Bytes> total, other;
    for (std::size_t i = 0; i < row.count; i += kLanes) {
      load(i);
      const std::size_t left = row.count - i;
      if (row.dWeight != nullptr) {
        total.load(row.dWeight + i, left, 0);
        for (std::size_t k = 0; k < z.kVectors; ++k) total[k] += d[k] * z[k];
        total.store(row.dWeight + i, left);
      }
      if (row.dBias != nullptr) {
        total.load(row.dBias + i, left, 0);
        for (std::size_t k = 0; k < z.kVectors; ++k) total[k] += d[k];
        total.store(row.dBias + i, left);
      }
      if (!isWritten) continue;
      for (std::size_t k = 0; k < z.kVectors; ++k) g[k] = (g[k] - mean - z[k] * meanOfProducts) * row.statistics.inverse;
      if (extends && row.other != nullptr) {
        g.template roundTo<X>();
        other.load(row.other + i, left, 0);
        for (std::size_t k = 0; k < z.kVectors; ++k) g[k] += other[k];
      }
      if (!extends || row.dx != nullptr) g.store(row.dx + i, left);
      if (extends && row.narrow != nullptr) g.store(row.narrow + i, left);
    }
  }
};

#undef RINGRUN_INLINE

}  // namespace

template <typename X>
RowStatistics statisticsOf(const X* x, std::size_t count, float epsilon) {
  RowStatistics result;
  runVectorised<LayerStatistics>(x, count, epsilon, result);
  return result;
}

template <typename X>
void normalizeRow(const X* x, std::size_t count, const RowStatistics& statistics, const float* weight, const float* bias, X* y,
                  std::uint16_t* narrow) {
  if (narrow != nullptr) return runVectorised<LayerNormalized<true>>(x, count, statistics, weight, bias, y, narrow);
  if (y != nullptr) runVectorised<LayerNormalized<false>>(x, count, statistics, weight, bias, y, narrow);
}

template <typename X, typename Y>
void differentiateRow(const RowGradient<X, Y>& row) {
  if (row.other == nullptr && row.narrow == nullptr) return runVectorised<LayerGradient<false>>(row);
  runVectorised<LayerGradient<true>>(row);
}

template <typename A, typename B>
void addRow(const A* a, const B* b, std::size_t count, SumOf<A, B>* to) {
  runVectorised<RowSum>(a, b, count, to);
}

#define RINGRUN_INSTANTIATE(A, B)                       \
  template void differentiateRow(const RowGradient<A, B>&); \
  template void addRow(const A*, const B*, std::size_t, SumOf<A, B>*);
RINGRUN_INSTANTIATE(float, float)
RINGRUN_INSTANTIATE(float, std::uint16_t)
RINGRUN_INSTANTIATE(std::uint16_t, float)
RINGRUN_INSTANTIATE(std::uint16_t, std::uint16_t)
#undef RINGRUN_INSTANTIATE
#define RINGRUN_INSTANTIATE(X)                                         \
  template RowStatistics statisticsOf(const X*, std::size_t, float);   \
  template void normalizeRow(const X*, std::size_t, const RowStatistics&, const float*, const float*, X*, std::uint16_t*);
RINGRUN_INSTANTIATE(float)
RINGRUN_INSTANTIATE(std::uint16_t)
#undef RINGRUN_INSTANTIATE

}  // namespace ringrun
