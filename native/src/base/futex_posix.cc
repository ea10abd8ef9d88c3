#include <algorithm>
#include <thread>

#include "base/futex.h"

// POSIX has no way to sleep until memory of several processes changes, so threads poll it.

namespace ringrun {

const bool kHasFutex = false;

namespace {

// The pause doubles: a short wait ends within 50 µs of the change, and a long one costs about 1000 looks a second.
constexpr std::chrono::microseconds kMinLookPause{50};
constexpr std::chrono::microseconds kMaxLookPause{1000};

}  // namespace

void waitOnFutex(const std::atomic<std::uint32_t>& word, std::uint32_t seen, Milliseconds timeout) {
  const auto until = Clock::now() + timeout;
  auto nap = std::chrono::duration_cast<Clock::duration>(kMinLookPause);
  while (word.load(std::memory_order_acquire) == seen) {
    const auto left = until - Clock::now();
    if (left <= Clock::duration::zero()) return;
    std::this_thread::sleep_for(std::min(nap, left));
    nap = std::min<Clock::duration>(2 * nap, kMaxLookPause);
  }
}

int waitOnFutexes(const std::vector<SeenWord>&, Clock::time_point) { return kCannotWatchSeveral; }

void wakeAll(const std::atomic<std::uint32_t>&) {}

}  // namespace ringrun
