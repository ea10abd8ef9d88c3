#include "base/wait.h"

#include <algorithm>

#include "base/engine.h"
#include "base/futex.h"

namespace ringrun {

void sleepWhile(const std::atomic<std::uint32_t>& word, std::uint32_t seen, Milliseconds patience) {
  Reason reason;
  reason.word = &word;
  reason.seen = seen;
  reason.until = Clock::now() + patience;
  if (!Engine::suspend(reason)) waitOnFutex(word, seen, patience);
}

std::size_t pollSockets(pollfd* interests, std::size_t count, Milliseconds patience) {
  Reason reason;
  reason.interests = interests;
  reason.count = count;
  reason.until = Clock::now() + patience;
  if (!Engine::suspend(reason)) {
    const int ready = ::poll(interests, static_cast<nfds_t>(count), static_cast<int>(patience.count()));
    return static_cast<std::size_t>(std::max(ready, 0));
  }
  const auto isReady = [](const pollfd& interest) { return interest.revents != 0; };
  return static_cast<std::size_t>(std::count_if(interests, interests + count, isReady));
}

}  // namespace ringrun
