#include "base/wait.h"

#include <algorithm>
#include <utility>

#include "base/progress_engine.h"
#include "base/futex.h"

namespace ringrun {
namespace {

thread_local WhileBlocked* whileBlocked = nullptr;

}  // namespace

WhileBlocked::WhileBlocked() : outer_(std::exchange(whileBlocked, this)) {}

WhileBlocked::~WhileBlocked() { whileBlocked = outer_; }

void callWhileBlocked() {
  WhileBlocked* const current = whileBlocked;
  if (current == nullptr) return;
  const auto now = Clock::now();
  // The first interval begins with the first wait: most operations end earlier.
  if (current->next_ == Clock::time_point::min()) current->next_ = now + kLivenessInterval;
  if (now < current->next_) return;
  current->next_ = now + kLivenessInterval;
  current->look();
}

void sleepWhile(const std::atomic<std::uint32_t>& word, std::uint32_t seen, Milliseconds timeout) {
  WaitCondition condition;
  condition.word = &word;
  condition.seen = seen;
  condition.until = Clock::now() + timeout;
  if (ProgressEngine::suspend(condition)) return;
  waitOnFutex(word, seen, timeout);
  callWhileBlocked();
}

std::size_t pollSockets(pollfd* interests, std::size_t count, Milliseconds timeout) {
  WaitCondition condition;
  condition.interests = interests;
  condition.count = count;
  condition.until = Clock::now() + timeout;
  if (!ProgressEngine::suspend(condition)) {
    const int ready = ::poll(interests, static_cast<nfds_t>(count), static_cast<int>(timeout.count()));
    if (ready <= 0) callWhileBlocked();
    return static_cast<std::size_t>(std::max(ready, 0));
  }
  const auto isReady = [](const pollfd& interest) { return interest.revents != 0; };
  return static_cast<std::size_t>(std::count_if(interests, interests + count, isReady));
}

}  // namespace ringrun
