#pragma once

#include "operators/product/panels.h"

// Kernels of panel products with the vectors of an instruction set, and those with instructions for bfloat16.

namespace ringrun {

void multiplyPlain(const PanelProduct& product);
void multiplyPlain(const HalfPanelProduct& product);

#if defined(__x86_64__)
void multiplyAvx2(const PanelProduct& product);
void multiplyAvx2(const HalfPanelProduct& product);
void multiplyAvx512(const PanelProduct& product);
void multiplyAvx512(const HalfPanelProduct& product);

bool hasAvx512BFloat16();
void multiplyAvx512BFloat16(const HalfPanelProduct& product);

// Asks the operating system for the tiles, once.
bool hasAmx();
void multiplyAmx(const HalfPanelProduct& product);
#endif

// The blocks of AMX in plain C++.
void multiplyAmxTwin(const HalfPanelProduct& product);

// Rows of the matrix that are summed at once: the partial sums of a long product stay small, which keeps their rounding
// error small, and three panels of that many rows stay in a first-level cache.
template <typename T>
constexpr std::size_t kRowsOfRun = 192 * sizeof(float) / sizeof(T);

// Rows first … first + inner − 1 of the matrix; `start` as in PanelProductOf.
struct ProductRun {
  std::size_t first;
  std::size_t inner;
  const float* const* start;
};

// Calls body(run) for all runs of a product.
template <typename T, typename Body>
inline __attribute__((always_inline)) void forEachRun(const PanelProductOf<T>& p, const Body& body) {
  std::size_t first = 0;
  do {
    const std::size_t inner = p.inner - first < kRowsOfRun<T> ? p.inner - first : kRowsOfRun<T>;
    body(ProductRun{first, inner, first == 0 ? p.start : p.to});
    first += inner;
  } while (first < p.inner);
}

}  // namespace ringrun
