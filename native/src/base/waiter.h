#pragma once

#include <poll.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/deadline.h"
#include "base/futex.h"
#include "base/unique_fd.h"

namespace ringrun {

// A condition to wait for: `word` no longer holds `seen` or is woken, or one of `interests` is ready, or
// `until` has passed.
struct WaitCondition {
  const std::atomic<std::uint32_t>* word = nullptr;
  std::uint32_t seen = 0;
  pollfd* interests = nullptr;
  std::size_t count = 0;
  Clock::time_point until{};
  bool occurred = false;
};

// Waits for any of several conditions, and can be woken by other threads.
//
// awaitAny() belongs to one thread; notify() may be called by any thread.
//
// A thread can sleep for sockets (poll) or for words (futex), but not for both. If both are needed, it polls
// with short timeouts and checks the words in between: 50 µs at first, doubled up to 1 ms while nothing
// happens. The same applies if the kernel cannot watch several words (before Linux 5.16).
class Waiter {
 public:
  // Throws Failure if the process has no file descriptors left.
  Waiter();

  // Returns after marking the conditions that hold, or after notify(). May mark a condition that does not hold.
  // If one is already marked, does not sleep, but checks the others.
  void awaitAny(const std::vector<WaitCondition*>& conditions);

  // Ends the current sleep, or else the next one. The woken thread sees all earlier writes of the
  // caller.
  void notify();

 private:
  enum class Asleep { No, OnWords, OnOneWord, InPoll };

  bool canWatchWordsOf(const std::vector<WaitCondition*>& conditions) const;
  void sleepOnWords(const std::vector<WaitCondition*>& conditions);
  void sleepOnOneWord(WaitCondition& condition);
  void sleepInPoll(const std::vector<WaitCondition*>& conditions);
  void pollAll(const std::vector<WaitCondition*>& conditions, Clock::duration timeout);
  bool fallAsleep(Asleep how);
  void wakeUp();

  // The number of notify() calls, and the number that the waiting thread has handled. Only the waiting thread
  // writes the members below.
  std::atomic<std::uint32_t> notifications_{0};
  std::uint32_t handled_ = 0;
  std::atomic<Asleep> asleep_{Asleep::No};
  std::atomic<const std::atomic<std::uint32_t>*> oneWord_{nullptr};

  // A pipe that interrupts poll.
  UniqueFd wakeRead_;
  UniqueFd wakeWrite_;

  bool canWatchSeveral_ = true;
  Clock::duration nap_;
  // Members so that their memory is reused.
  std::vector<SeenWord> words_;
  std::vector<WaitCondition*> wordConditions_;
  std::vector<pollfd> interests_;
};

}  // namespace ringrun
