#pragma once

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/deadline.h"

namespace ringrun {

// The two ways in which operations sleep. Every wait goes through them, none through a system call of its own: on a
// strand (base/engine.h) they hand the thread to the others, on any other thread they block it. On a strand, neither
// may be called in a catch block (base/fiber.h).

// Sleeps while `word`, which may lie in memory shared by several processes, still holds `seen`; returns when woken
// (wakeAll in base/futex.h), when the word differs, after `patience`, or spuriously.
void sleepWhile(const std::atomic<std::uint32_t>& word, std::uint32_t seen, Milliseconds patience);

// poll(2) of `count` interests, whose `revents` it sets. Returns how many of them have something to say: 0 after
// `patience`, or spuriously. No interests: sleeps for `patience`.
std::size_t pollSockets(pollfd* interests, std::size_t count, Milliseconds patience);

}  // namespace ringrun
