#include "operators/low_rank.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "operators/vectors.h"
#include "operators/wide.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

// Columns of M whose sums stay in a first-level cache.
constexpr std::size_t kTile = 256;

// Sums of a row of P that stay in registers.
constexpr std::size_t kSums = 4;

// A column depends on earlier columns if projecting them out leaves at most this fraction of its length (float32 precision).
constexpr double kDependent = 1e-6;

// The columns of a factor, each followed by zeros to a multiple of 8 elements.
class Columns {
 public:
  Columns(const float* factor, std::size_t rows, std::size_t columns)
      : stride_((rows + kWide - 1) / kWide * kWide), elements_(stride_ * columns) {
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t k = 0; k < columns; ++k) column(k)[row] = factor[row * columns + k];
    }
  }

  std::size_t stride() const { return stride_; }
  float* column(std::size_t k) { return elements_.data() + k * stride_; }
  const float* column(std::size_t k) const { return elements_.data() + k * stride_; }

 private:
  std::size_t stride_;
  std::vector<float> elements_;
};

struct LeftFactor {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const LowRankSizes& given, const float* matrix, float* error, const Columns& q, float* p) {
    const LowRankSizes sizes = given;
    for (std::size_t row = 0; row < sizes.rows; ++row) {
      const float* from = matrix + row * sizes.columns;
      if (error != nullptr) {
        float* const sum = error + row * sizes.columns;
        for (std::size_t j = 0; j < sizes.columns; ++j) sum[j] += from[j];
        from = sum;
      }
      float* const to = p + row * sizes.rank;
      std::size_t k = 0;
      for (; k + kSums <= sizes.rank; k += kSums) multiplyRow<Bytes, kSums>(from, sizes.columns, q, k, to);
      if (sizes.rank - k == 3) multiplyRow<Bytes, 3>(from, sizes.columns, q, k, to);
      if (sizes.rank - k == 2) multiplyRow<Bytes, 2>(from, sizes.columns, q, k, to);
      if (sizes.rank - k == 1) multiplyRow<Bytes, 1>(from, sizes.columns, q, k, to);
    }
  }

 private:
  template <std::size_t Bytes, std::size_t Count>
  static RINGRUN_INLINE void multiplyRow(const float* from, std::size_t columns, const Columns& q, std::size_t first, float* to) {
    Wide<Bytes> sums[Count], x, y;
    const float* factors[Count];
#pragma GCC unroll 4
    for (std::size_t k = 0; k < Count; ++k) {
      sums[k].clear();
      factors[k] = q.column(first + k);
    }
    const auto add = [&](std::size_t j) __attribute__((always_inline)) {
#pragma GCC unroll 4
      for (std::size_t k = 0; k < Count; ++k) {
        y.load(factors[k] + j);
        sums[k].addProduct(x, y);
      }
    };
    std::size_t j = 0;
    for (; j + kWide <= columns; j += kWide) {
      x.load(from + j);
      add(j);
    }
    if (j < columns) {
      x.load(from + j, columns - j);
      add(j);
    }
#pragma GCC unroll 4
    for (std::size_t k = 0; k < Count; ++k) to[first + k] = static_cast<float>(sums[k].sum());
  }
};

struct RightFactor {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const LowRankSizes& given, const float* matrix, const float* p, double* sums, float* q) {
    const LowRankSizes sizes = given;
    for (std::size_t first = 0; first < sizes.columns; first += kTile) {
      const std::size_t count = std::min(kTile, sizes.columns - first);
      std::fill(sums, sums + kTile * sizes.rank, 0.0);
      for (std::size_t row = 0; row < sizes.rows; ++row) {
        addRow<Bytes>(matrix + row * sizes.columns + first, count, p + row * sizes.rank, sizes.rank, sums);
      }
      for (std::size_t j = 0; j < count; ++j) {
        for (std::size_t k = 0; k < sizes.rank; ++k) {
          q[(first + j) * sizes.rank + k] = static_cast<float>(sums[k * kTile + j]);
        }
      }
    }
  }

 private:
  template <std::size_t Bytes>
  static RINGRUN_INLINE void addRow(const float* from, std::size_t count, const float* factors, std::size_t rank, double* sums) {
    Wide<Bytes> x, sum;
    for (std::size_t j = 0; j < count; j += kWide) {
      x.load(from + j, count - j);
      for (std::size_t k = 0; k < rank; ++k) {
        sum.load(sums + k * kTile + j);
        sum.addProduct(x, static_cast<double>(factors[k]));
        sum.store(sums + k * kTile + j);
      }
    }
  }
};

struct ProductOfFactors {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const LowRankSizes& given, const float* p, const Columns& q, float* matrix, float* error) {
    const LowRankSizes sizes = given;
    for (std::size_t row = 0; row < sizes.rows; ++row) {
      const float* const factors = p + row * sizes.rank;
      float* const to = matrix + row * sizes.columns;
      Wide<Bytes> x, sum;
      for (std::size_t j = 0; j < sizes.columns; j += kWide) {
        sum.clear();
        for (std::size_t k = 0; k < sizes.rank; ++k) {
          x.load(q.column(k) + j);
          sum.addProduct(x, static_cast<double>(factors[k]));
        }
        sum.store(to + j, sizes.columns - j);
      }
      if (error == nullptr) continue;
      float* const rest = error + row * sizes.columns;
      for (std::size_t j = 0; j < sizes.columns; ++j) rest[j] -= to[j];
    }
  }
};

// `count` is a multiple of 8 in the kernels below.

struct InnerProductOfColumns {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const float* a, const float* b, std::size_t count, double& to) {
    Wide<Bytes> sum, x, y;
    sum.clear();
    for (std::size_t i = 0; i < count; i += kWide) {
      x.load(a + i);
      y.load(b + i);
      sum.addProduct(x, y);
    }
    to = sum.sum();
  }
};

struct SubtractScaled {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(float* from, float factor, const float* other, std::size_t count) {
    Wide<Bytes> rest, x;
    for (std::size_t i = 0; i < count; i += kWide) {
      rest.load(from + i);
      x.load(other + i);
      rest.addProduct(x, -static_cast<double>(factor));
      rest.store(from + i);
    }
  }
};

struct Divide {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(float* column, double divisor, std::size_t count) {
    Wide<Bytes> x;
    for (std::size_t i = 0; i < count; i += kWide) {
      x.load(column + i);
      for (auto& vector : x.vectors) vector /= divisor;
      x.store(column + i);
    }
  }
};

#undef RINGRUN_INLINE

double innerProductOf(const float* a, const float* b, std::size_t count) {
  double result;
  runVectorised<InnerProductOfColumns>(a, b, count, result);
  return result;
}

}  // namespace

void leftFactor(const LowRankSizes& sizes, const float* matrix, float* error, const float* q, float* p) {
  const Columns columns(q, sizes.columns, sizes.rank);
  runVectorised<LeftFactor>(sizes, matrix, error, columns, p);
}

void rightFactor(const LowRankSizes& sizes, const float* matrix, const float* p, float* q) {
  std::vector<double> sums(kTile * sizes.rank);
  runVectorised<RightFactor>(sizes, matrix, p, sums.data(), q);
}

void productOfFactors(const LowRankSizes& sizes, const float* p, const float* q, float* matrix, float* error) {
  const Columns columns(q, sizes.columns, sizes.rank);
  runVectorised<ProductOfFactors>(sizes, p, columns, matrix, error);
}

std::vector<std::size_t> orthonormalize(float* factor, std::size_t rows, std::size_t columns) {
  Columns all(factor, rows, columns);
  const std::size_t stride = all.stride();
  std::vector<std::size_t> dependent;
  for (std::size_t k = 0; k < columns; ++k) {
    float* const column = all.column(k);
    const double length = std::sqrt(innerProductOf(column, column, stride));
    for (std::size_t i = 0; i < 2 * k; ++i) {
      const float* const other = all.column(i % k);
      runVectorised<SubtractScaled>(column, static_cast<float>(innerProductOf(column, other, stride)), other, stride);
    }
    const double rest = std::sqrt(innerProductOf(column, column, stride));
    if (rest <= kDependent * length) {
      std::fill(column, column + stride, 0.0f);
      dependent.push_back(k);
    } else {
      runVectorised<Divide>(column, rest, stride);
    }
  }
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t k = 0; k < columns; ++k) factor[row * columns + k] = all.column(k)[row];
  }
  return dependent;
}

}  // namespace ringrun
