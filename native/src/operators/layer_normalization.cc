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
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const float* x, std::size_t count, float epsilon, RowStatistics& to) {
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

struct LayerNormalized {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const float* x, std::size_t count, const RowStatistics& given, const float* weight, const float* bias, float* y) {
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
      v.store(y + i, count - i);
    }
  }
};

// With z the normalized row, g = dy·weight and m the mean over the row: dx = (g − m(g) − z·m(g·z))·inverse.
struct LayerGradient {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const RowGradient& given) {
    const RowGradient row = given;
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
      }
    };
    if (row.dx != nullptr) {
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
    Lanes<Bytes> total;
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
      if (row.dx == nullptr) continue;
      for (std::size_t k = 0; k < z.kVectors; ++k) g[k] = (g[k] - mean - z[k] * meanOfProducts) * row.statistics.inverse;
      g.store(row.dx + i, left);
    }
  }
};

#undef RINGRUN_INLINE

}  // namespace

RowStatistics statisticsOf(const float* x, std::size_t count, float epsilon) {
  RowStatistics result;
  runVectorised<LayerStatistics>(x, count, epsilon, result);
  return result;
}

void normalizeRow(const float* x, std::size_t count, const RowStatistics& statistics, const float* weight, const float* bias, float* y) {
  runVectorised<LayerNormalized>(x, count, statistics, weight, bias, y);
}

void differentiateRow(const RowGradient& row) { runVectorised<LayerGradient>(row); }

}  // namespace ringrun
