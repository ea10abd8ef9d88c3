#pragma once

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/deadline.h"

namespace ringrun {

// All waits of operations use these two functions. On a fiber (base/progress_engine.h) they let other fibers
// run; on any other thread they block it. On a fiber, neither may be called in a catch block (base/fiber.h).

// Sleeps while `word`, which may be in memory shared by several processes, holds `seen`. Returns when woken
// (wakeAll in base/futex.h), when the word differs, after `timeout`, or spuriously.
void sleepWhile(const std::atomic<std::uint32_t>& word, std::uint32_t seen, Milliseconds timeout);

// poll(2) of `count` interests; sets their `revents`. Returns the number of ready ones, or 0 after `timeout` or
// spuriously. Without interests, sleeps for `timeout`.
std::size_t pollSockets(pollfd* interests, std::size_t count, Milliseconds timeout);

// While it exists, look() is called about every kLivenessInterval in which this thread blocks: in the functions above, and
// in others that call callWhileBlocked().
class WhileBlocked {
 public:
  WhileBlocked();
  WhileBlocked(const WhileBlocked&) = delete;
  WhileBlocked& operator=(const WhileBlocked&) = delete;

 protected:
  ~WhileBlocked();

 private:
  friend void callWhileBlocked();

  virtual void look() = 0;

  Clock::time_point next_ = Clock::time_point::min();
  WhileBlocked* outer_;
};

// Calls look() of this thread's WhileBlocked if it is due.
void callWhileBlocked();

}  // namespace ringrun
