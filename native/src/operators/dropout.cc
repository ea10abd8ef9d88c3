#include "operators/dropout.h"

#include <algorithm>

#include "operators/vectors.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

constexpr std::size_t kCounters = kDropoutBlock / 4;

// The numbers of the block of elements that begins at `block`. Loops that compilers vectorise. They would not if the
// counters of a block fitted into few vectors.
RINGRUN_INLINE void numbersOfBlock(std::uint64_t key, std::uint64_t block, std::uint32_t (&words)[4][kCounters]) {
  auto& [a, b, c, d] = words;
  const std::uint64_t first = block / 4;
  for (std::size_t i = 0; i < kCounters; ++i) {
    // `first` is a multiple of kCounters, so the sum does not carry.
    a[i] = static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(i);
    b[i] = static_cast<std::uint32_t>(first >> 32);
    c[i] = 0;
    d[i] = 0;
  }
  auto low = static_cast<std::uint32_t>(key);
  auto high = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    for (std::size_t i = 0; i < kCounters; ++i) {
      const std::uint64_t left = std::uint64_t{a[i]} * 0xd2511f53u;
      const std::uint64_t right = std::uint64_t{c[i]} * 0xcd9e8d57u;
      a[i] = static_cast<std::uint32_t>(right >> 32) ^ b[i] ^ low;
      b[i] = static_cast<std::uint32_t>(right);
      c[i] = static_cast<std::uint32_t>(left >> 32) ^ d[i] ^ high;
      d[i] = static_cast<std::uint32_t>(left);
    }
    low += 0x9e3779b9u;
    high += 0xbb67ae85u;
  }
}

struct DropOut {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const DropoutMask& given, const T* x, T* y, std::size_t begin, std::size_t end) {
    const DropoutMask mask = given;
    std::uint32_t words[4][kCounters];
    for (std::size_t block = begin; block < end; block += kDropoutBlock) {
      numbersOfBlock(mask.key, block, words);
      for (std::size_t w = 0; w < 4; ++w) {
        const std::size_t at = block + w * kCounters;
        if (at >= end) break;
        const std::size_t count = std::min(kCounters, end - at);
        for (std::size_t i = 0; i < count; ++i) {
          setNumber(y[at + i], numberOf(x[at + i]) * (words[w][i] <= mask.limit ? mask.scale : 0.0f));
        }
      }
    }
  }
};

struct DropoutFactors {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(const DropoutMask& given, std::uint64_t begin, std::size_t count, float* to) {
    const DropoutMask mask = given;
    const std::uint64_t end = begin + count;
    std::uint32_t words[4][kCounters];
    float factors[kDropoutBlock];
    for (std::uint64_t block = begin / kDropoutBlock * kDropoutBlock; block < end; block += kDropoutBlock) {
      numbersOfBlock(mask.key, block, words);
      for (std::size_t w = 0; w < 4; ++w) {
        for (std::size_t i = 0; i < kCounters; ++i) factors[w * kCounters + i] = words[w][i] <= mask.limit ? mask.scale : 0.0f;
      }
      const std::uint64_t first = std::max(block, begin);
      const std::uint64_t last = std::min(block + kDropoutBlock, end);
      std::copy(factors + (first - block), factors + (last - block), to + (first - begin));
    }
  }
};

#undef RINGRUN_INLINE

}  // namespace

template <typename T>
void dropOut(const DropoutMask& mask, const T* x, T* y, std::size_t begin, std::size_t end) {
  runVectorised<DropOut>(mask, x, y, begin, end);
}

template void dropOut(const DropoutMask&, const float*, float*, std::size_t, std::size_t);
template void dropOut(const DropoutMask&, const std::uint16_t*, std::uint16_t*, std::size_t, std::size_t);

void dropoutFactors(const DropoutMask& mask, std::uint64_t begin, std::size_t count, float* to) {
  runVectorised<DropoutFactors>(mask, begin, count, to);
}

}  // namespace ringrun
