#pragma once

#include <cstddef>
#include <cstdint>

// Dropout whose mask is a function of a key and the position of an element, so that no mask is stored: Philox 4x32-10
// (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011).

namespace ringrun {

// A block of elements has 64 counters with 4 numbers each: element i = 256·b + 64·w + c reads number w of
// counter 64·b + c.
constexpr std::size_t kDropoutBlock = 256;

struct DropoutMask {
  std::uint64_t key;
  std::uint32_t limit;  // an element is kept if its number is at most this
  float scale;          // factor of kept elements
};

// y[i] = x[i]·scale or x[i]·0, for i from `begin`, a multiple of kDropoutBlock, below `end`. `y` may be `x`. T is
// float, or std::uint16_t for bfloat16.
template <typename T>
void dropOut(const DropoutMask& mask, const T* x, T* y, std::size_t begin, std::size_t end);

// to[i] = the factor of element begin + i: the mask's scale, or 0.
void dropoutFactors(const DropoutMask& mask, std::uint64_t begin, std::size_t count, float* to);

}  // namespace ringrun
