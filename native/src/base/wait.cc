#include "base/wait.h"

#include <algorithm>

#include "base/futex.h"

namespace ringrun {

void sleepWhile(const std::atomic<std::uint32_t>& word, std::uint32_t seen, Milliseconds patience) {
  waitOnFutex(word, seen, patience);
}

std::size_t pollSockets(pollfd* interests, std::size_t count, Milliseconds patience) {
  const int ready = ::poll(interests, static_cast<nfds_t>(count), static_cast<int>(patience.count()));
  return static_cast<std::size_t>(std::max(ready, 0));
}

}  // namespace ringrun
