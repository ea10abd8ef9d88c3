#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/deadline.h"

namespace ringrun {

// Whether threads can sleep on words here; where not, waitOnFutex looks at the word from time to time.
#ifdef __linux__
constexpr bool kHasFutex = true;
#else
constexpr bool kHasFutex = false;
#endif

// What sleepWhile (base/wait.h) promises, for the calling thread as a whole.
void waitOnFutex(const std::atomic<std::uint32_t>& word, std::uint32_t seen, Milliseconds patience);

struct SeenWord {
  const std::atomic<std::uint32_t>* word;
  std::uint32_t seen;
};

// The most words that waitOnFutexes takes, and what it returns.
constexpr std::size_t kMostFutexes = 128;
constexpr int kNoneWoken = -1;
constexpr int kCannotWatchSeveral = -2;

// Sleeps while all words hold what was seen, until one is woken, whose index it returns. kNoneWoken: a word differed
// already, or it is `until`, or neither (spuriously). kCannotWatchSeveral: not on this system, ever.
int waitOnFutexes(const std::vector<SeenWord>& words, Clock::time_point until);

// Wakes everybody who sleeps on `word`.
void wakeAll(const std::atomic<std::uint32_t>& word);

// Tells the processor that this is a spinning loop, so that it saves power and leaves the core's other thread its
// share.
inline void pauseBriefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");
#endif
}

}  // namespace ringrun
