#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/deadline.h"

namespace ringrun {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "words shared by processes must be lock-free");

// True if threads can sleep on words. Otherwise waitOnFutex polls the word, and wakeAll does nothing: a thread wakes up after
// its word has changed.
extern const bool kHasFutex;

// Like sleepWhile (base/wait.h), but blocks the calling thread.
void waitOnFutex(const std::atomic<std::uint32_t>& word, std::uint32_t seen, Milliseconds timeout);

struct SeenWord {
  const std::atomic<std::uint32_t>* word;
  std::uint32_t seen;
};

// The maximum number of words for waitOnFutexes, and its special return values.
constexpr std::size_t kMaxFutexes = 128;
constexpr int kNoneWoken = -1;
constexpr int kCannotWatchSeveral = -2;

// Sleeps while every word holds its `seen` value, until one is woken, and returns its index. kNoneWoken: a word
// already differed, `until` has passed, or spuriously. kCannotWatchSeveral: this system does not support it.
int waitOnFutexes(const std::vector<SeenWord>& words, Clock::time_point until);

// Wakes all threads that sleep on `word`.
void wakeAll(const std::atomic<std::uint32_t>& word);

// Hints to the processor that this is a spin loop: saves power and yields to the other hyperthread.
inline void pauseBriefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace ringrun
