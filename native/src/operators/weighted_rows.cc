#include "operators/weighted_rows.h"

#include "operators/vectors.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

// Columns whose sums stay in registers.
constexpr std::size_t kBlocks = 4;

struct SumOfRows {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const float* table, std::size_t width, const std::int64_t* rows, const float* weights, std::size_t count, float* to) {
    std::size_t column = 0;
    for (; column + kBlocks * kLanes <= width; column += kBlocks * kLanes) {
      Lanes<Bytes> sums[kBlocks], x;
      for (auto& block : sums) block.fill(0);
      for (std::size_t i = 0; i < count; ++i) {
        const float* const from = table + static_cast<std::size_t>(rows[i]) * width + column;
        const float weight = weights == nullptr ? 1.0f : weights[i];
        for (std::size_t block = 0; block < kBlocks; ++block) {
          x.load(from + block * kLanes);
          for (std::size_t k = 0; k < x.kVectors; ++k) sums[block][k] += weight * x[k];
        }
      }
      for (std::size_t block = 0; block < kBlocks; ++block) sums[block].store(to + column + block * kLanes);
    }
    for (; column < width; column += kLanes) {
      Lanes<Bytes> sum, x;
      sum.fill(0);
      for (std::size_t i = 0; i < count; ++i) {
        const float weight = weights == nullptr ? 1.0f : weights[i];
        x.load(table + static_cast<std::size_t>(rows[i]) * width + column, width - column, 0);
        for (std::size_t k = 0; k < x.kVectors; ++k) sum[k] += weight * x[k];
      }
      sum.store(to + column, width - column);
    }
  }
};

struct AddScaled {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const float* from, float scale, std::size_t width, float* to) {
    Lanes<Bytes> x, sum;
    for (std::size_t i = 0; i < width; i += kLanes) {
      x.load(from + i, width - i, 0);
      sum.load(to + i, width - i, 0);
      for (std::size_t k = 0; k < x.kVectors; ++k) sum[k] += scale * x[k];
      sum.store(to + i, width - i);
    }
  }
};

struct InnerProduct {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const T* a, const T* b, std::size_t width, float& to) {
    Lanes<Bytes> x, y, sum;
    sum.fill(0);
    for (std::size_t i = 0; i < width; i += kLanes) {
      x.load(a + i, width - i, 0);
      y.load(b + i, width - i, 0);
      for (std::size_t k = 0; k < x.kVectors; ++k) sum[k] += x[k] * y[k];
    }
    to = static_cast<float>(sum.sum());
  }
};

#undef RINGRUN_INLINE

}  // namespace

void sumOfRows(const float* table, std::size_t width, const std::int64_t* rows, const float* weights, std::size_t count, float* to) {
  runVectorised<SumOfRows>(table, width, rows, weights, count, to);
}

void addScaled(const float* from, float scale, std::size_t width, float* to) { runVectorised<AddScaled>(from, scale, width, to); }

template <typename T>
float innerProduct(const T* a, const T* b, std::size_t width) {
  float result;
  runVectorised<InnerProduct>(a, b, width, result);
  return result;
}

template float innerProduct(const float*, const float*, std::size_t);
template float innerProduct(const std::uint16_t*, const std::uint16_t*, std::size_t);

}  // namespace ringrun
