#pragma once

#include <atomic>
#include <cstdint>

#include "base/deadline.h"

namespace ringrun {

// What sleepWhile (base/wait.h) promises, for the calling thread as a whole.
void waitOnFutex(const std::atomic<std::uint32_t>& word, std::uint32_t seen, Milliseconds patience);

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
