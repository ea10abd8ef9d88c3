#include "operators/sum_rows.h"

#include <algorithm>

#include "operators/vectors.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

struct SumRows {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const std::uint16_t* x, std::size_t rows, std::size_t stride, std::size_t columns, float* to) {
    constexpr std::size_t kRowsOfRun = 64;
    alignas(64) float totals[kColumnsOfSum] = {};
    for (std::size_t first = 0; first < rows; first += kRowsOfRun) {
      alignas(64) float sums[kColumnsOfSum] = {};
      for (std::size_t row = first; row < std::min(rows, first + kRowsOfRun); ++row) add<Bytes>(x + row * stride, columns, sums);
      add<Bytes>(sums, columns, totals);
    }
    std::copy_n(totals, columns, to);
  }

 private:
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void add(const T* from, std::size_t columns, float (&to)[kColumnsOfSum]) {
    Lanes<Bytes> numbers, sums;
    for (std::size_t i = 0; i < columns; i += kLanes) {
      numbers.load(from + i, columns - i, 0);
      sums.load(to + i);
      for (std::size_t v = 0; v < sums.kVectors; ++v) sums[v] += numbers[v];
      sums.store(to + i);
    }
  }
};

#undef RINGRUN_INLINE

}  // namespace

void sumRows(const std::uint16_t* x, std::size_t rows, std::size_t stride, std::size_t columns, float* to) {
  runVectorised<SumRows>(x, rows, stride, columns, to);
}

}  // namespace ringrun
