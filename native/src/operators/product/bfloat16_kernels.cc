#include "operators/product/vector_kernels.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#include <cstring>

#include "operators/vectors.h"

namespace ringrun {
namespace {

#define RINGRUN_BFLOAT16 __attribute__((target("avx512f,avx512bw,avx512dq,avx512bf16,fma")))
#define RINGRUN_INLINE inline __attribute__((always_inline, target("avx512f,avx512bw,avx512dq,avx512bf16,fma")))

// `Rows` rows times `Panels` panels from `panel`, with all sums in registers.
template <std::size_t Rows, std::size_t Panels>
RINGRUN_INLINE void multiplyBlock(const HalfPanelProduct& p, const ProductRun& run, std::size_t row, std::size_t panel) {
  __m512 sums[Rows][Panels];
  const std::uint16_t* from[Rows];
  const std::uint16_t* panels[Panels];
#pragma GCC unroll 16
  for (std::size_t r = 0; r < Rows; ++r) {
    from[r] = p.from[row + r] + run.first;
#pragma GCC unroll 16
    for (std::size_t q = 0; q < Panels; ++q) sums[r][q] = _mm512_setzero_ps();
  }
#pragma GCC unroll 16
  for (std::size_t q = 0; q < Panels; ++q) panels[q] = p.panels[panel + q] + run.first * kLanes;
  for (std::size_t k = 0; k < run.inner; k += 2) {
    __m512i weights[Panels];
#pragma GCC unroll 16
    for (std::size_t q = 0; q < Panels; ++q) weights[q] = _mm512_loadu_si512(panels[q] + k * kLanes);
#pragma GCC unroll 16
    for (std::size_t r = 0; r < Rows; ++r) {
      int pair;
      std::memcpy(&pair, from[r] + k, sizeof pair);
      const __m512i left = _mm512_set1_epi32(pair);
#pragma GCC unroll 16
      for (std::size_t q = 0; q < Panels; ++q) {
        sums[r][q] = _mm512_dpbf16_ps(sums[r][q], reinterpret_cast<__m512bh>(left), reinterpret_cast<__m512bh>(weights[q]));
      }
    }
  }
#pragma GCC unroll 16
  for (std::size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
    for (std::size_t q = 0; q < Panels; ++q) {
      const std::size_t column = (panel + q) * kLanes;
      if (run.start != nullptr) sums[r][q] = _mm512_add_ps(sums[r][q], _mm512_loadu_ps(run.start[row + r] + column));
      _mm512_storeu_ps(p.to[row + r] + column, sums[r][q]);
    }
  }
}

template <std::size_t Rows, std::size_t Panels>
RINGRUN_INLINE void multiplyRows(const HalfPanelProduct& p, const ProductRun& run, std::size_t& row) {
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

#undef RINGRUN_INLINE

}  // namespace

bool hasAvx512BFloat16() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  // CPUID leaf 7, subleaf 1.
  return Avx512::isHere() && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && (eax & 1u << 5) != 0;
}

RINGRUN_BFLOAT16 void multiplyAvx512BFloat16(const HalfPanelProduct& product) {
  const HalfPanelProduct p = product;
  std::size_t first = 0;
  do {
    const std::size_t inner = p.inner - first < kRowsOfRun<std::uint16_t> ? p.inner - first : kRowsOfRun<std::uint16_t>;
    const ProductRun run{first, inner, first == 0 ? p.start : p.to};
    std::size_t row = 0;
    multiplyRows<8, 3>(p, run, row);
    multiplyRows<4, 4>(p, run, row);
    multiplyRows<2, 6>(p, run, row);
    multiplyRows<1, 8>(p, run, row);
    first += inner;
  } while (first < p.inner);
}

#undef RINGRUN_BFLOAT16

}  // namespace ringrun

#endif
