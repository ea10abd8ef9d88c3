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

// What somebody waits for: that `word` no longer holds `seen` or is woken; or that one of `interests` has something
// to say; or the moment `until`, whatever comes first.
struct Reason {
  const std::atomic<std::uint32_t>* word = nullptr;
  std::uint32_t seen = 0;
  pollfd* interests = nullptr;
  std::size_t count = 0;
  Clock::time_point until{};
  bool occurred = false;
};

// Sleeps for any number of reasons at once, and can be woken besides.
//
// awaitAny() belongs to one thread; ring() may be called by every thread.
//
// A thread can sleep for sockets (poll) or for words (futex), never for both. Where both are asked for, it polls in
// naps, between which it looks at the words: short ones while something happens, and longer and longer ones, up to a
// millisecond, while nothing does. The same where the kernel cannot watch several words (before Linux 5.16).
class Sleeper {
 public:
  // Throws Failure when the process has no file descriptors left.
  Sleeper();

  // Returns when a reason has occurred, with every one marked that has, or when the bell rings. A reason may be marked
  // although nothing happened. One that is marked already is one that has occurred: then this does not sleep, but
  // looks at the others.
  void awaitAny(const std::vector<Reason*>& reasons);

  // Ends the sleep under way or, where there is none, the next one. What the caller wrote before, the awakened thread
  // sees.
  void ring();

 private:
  enum class Asleep { No, OnWords, OnOneWord, InPoll };

  bool canWatchWordsOf(const std::vector<Reason*>& reasons) const;
  void sleepOnWords(const std::vector<Reason*>& reasons);
  void sleepOnOneWord(Reason& reason);
  void sleepInPoll(const std::vector<Reason*>& reasons);
  void pollAll(const std::vector<Reason*>& reasons, Clock::duration patience);
  bool fallAsleep(Asleep how);
  void wakeUp();

  // Counts the rings, and the last count that the sleeping thread knew of. Nobody else writes what is below.
  std::atomic<std::uint32_t> rung_{0};
  std::uint32_t heard_ = 0;
  std::atomic<Asleep> asleep_{Asleep::No};
  std::atomic<const std::atomic<std::uint32_t>*> oneWord_{nullptr};

  // Interrupts poll: the one end is polled, a byte written to the other.
  UniqueFd bell_;
  UniqueFd button_;

  bool canWatchSeveral_ = true;
  Clock::duration nap_;
  // Members so that their memory is reused.
  std::vector<SeenWord> words_;
  std::vector<Reason*> wordReasons_;
  std::vector<pollfd> interests_;
};

}  // namespace ringrun
