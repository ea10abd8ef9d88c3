#include "base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>

namespace ringrun {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t), "the kernel compares these four bytes");

const bool kHasFutex = true;

// Not the *_PRIVATE variants, because processes share the word.
void waitOnFutex(const std::atomic<std::uint32_t>& word, std::uint32_t seen, Milliseconds timeout) {
  timespec limit{};
  limit.tv_sec = timeout.count() / 1000;
  limit.tv_nsec = timeout.count() % 1000 * 1'000'000;
  ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

namespace {

// Missing in the headers of older systems (before Linux 5.16); the number is the same on all processors.
constexpr long kFutexWaitv = 449;
constexpr std::uint32_t kFutexOf32Bits = 2;
struct FutexWaitv {
  std::uint64_t seen;
  std::uint64_t address;
  std::uint32_t flags;
  std::uint32_t reserved;
};

}  // namespace

// std::chrono::steady_clock is CLOCK_MONOTONIC. Some containers return EPERM for unknown system calls.
int waitOnFutexes(const std::vector<SeenWord>& words, Clock::time_point until) {
  FutexWaitv waited[kMaxFutexes];
  for (std::size_t i = 0; i < words.size(); ++i) {
    waited[i] = {words[i].seen, reinterpret_cast<std::uintptr_t>(words[i].word), kFutexOf32Bits, 0};
  }
  const auto ns = std::max<long long>(0, std::chrono::nanoseconds(until.time_since_epoch()).count());
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
  limit.tv_nsec = static_cast<long>(ns % 1'000'000'000);
  const long woken = ::syscall(kFutexWaitv, waited, words.size(), 0, &limit, CLOCK_MONOTONIC);
  if (woken >= 0) return static_cast<int>(woken);
  return errno == EAGAIN || errno == EINTR || errno == ETIMEDOUT ? kNoneWoken : kCannotWatchSeveral;
}

void wakeAll(const std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace ringrun
