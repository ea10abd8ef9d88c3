#include "operators/bfloat16_instructions.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace ringrun {

#if defined(__x86_64__)

namespace {

constexpr unsigned kOpmaskAndZmm = 0xe6;
constexpr unsigned kTiles = 0x60000;

// The state that the operating system saves: XCR0, or 0 without XSAVE.
unsigned savedState() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & bit_OSXSAVE) == 0) return 0;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

}  // namespace

bool hasBfloat16Instructions() {
  const unsigned saved = savedState();
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool hasAvx = __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & (1u << 5)) != 0;
  const bool hasTiles = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & (1u << 22)) != 0;
  return (hasAvx && (saved & kOpmaskAndZmm) == kOpmaskAndZmm) || (hasTiles && (saved & kTiles) == kTiles);
}

#elif defined(__aarch64__) && defined(__linux__)

bool hasBfloat16Instructions() {
  constexpr unsigned long kBfloat16 = 1ul << 14;  // HWCAP2_BF16
  return (getauxval(AT_HWCAP2) & kBfloat16) != 0;
}

#else

bool hasBfloat16Instructions() { return false; }

#endif

}  // namespace ringrun
