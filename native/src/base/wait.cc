#include "base/wait.h"

#include <algorithm>

#include "base/progress_engine.h"
#include "base/futex.h"

namespace ringrun {

void sleepWhile(const std::atomic<std::uint32_t>& word, std::uint32_t seen, Milliseconds timeout) {
  WaitCondition condition;
  condition.word = &word;
  condition.seen = seen;
  condition.until = Clock::now() + timeout;
  if (!ProgressEngine::suspend(condition)) waitOnFutex(word, seen, timeout);
}

std::size_t pollSockets(pollfd* interests, std::size_t count, Milliseconds timeout) {
  WaitCondition condition;
  condition.interests = interests;
  condition.count = count;
  condition.until = Clock::now() + timeout;
  if (!ProgressEngine::suspend(condition)) {
    const int ready = ::poll(interests, static_cast<nfds_t>(count), static_cast<int>(timeout.count()));
    return static_cast<std::size_t>(std::max(ready, 0));
  }
  const auto isReady = [](const pollfd& interest) { return interest.revents != 0; };
  return static_cast<std::size_t>(std::count_if(interests, interests + count, isReady));
}

}  // namespace ringrun
