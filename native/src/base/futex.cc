#include "base/futex.h"

#include <climits>
#include <thread>

#ifdef __linux__
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace ringrun {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "words shared by processes must be plain memory");
static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t), "the kernel looks at these four bytes");

#ifdef __linux__

// Not the *_PRIVATE variants: the word is shared by processes.
void waitOnFutex(const std::atomic<std::uint32_t>& word, std::uint32_t seen, Milliseconds patience) {
  timespec timeout{};
  timeout.tv_sec = patience.count() / 1000;
  timeout.tv_nsec = patience.count() % 1000 * 1'000'000;
  ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

void wakeAll(const std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

#else

void waitOnFutex(const std::atomic<std::uint32_t>& word, std::uint32_t seen, Milliseconds) {
  if (word.load(std::memory_order_acquire) == seen) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void wakeAll(const std::atomic<std::uint32_t>&) {}

#endif

}  // namespace ringrun
