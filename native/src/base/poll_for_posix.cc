#include "base/poll_for.h"

#include <thread>

namespace ringrun {

// poll() counts milliseconds. Shorter waits sleep between two looks: a socket that becomes ready meanwhile is detected at the
// end. A Waiter waits so shortly only while it also watches words.
int pollFor(pollfd* interests, std::size_t count, std::chrono::nanoseconds timeout) {
  const auto look = [&](int ms) { return ::poll(interests, static_cast<nfds_t>(count), ms); };
  if (timeout >= std::chrono::milliseconds(1) || timeout <= std::chrono::nanoseconds::zero()) {
    return look(static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(timeout).count()));
  }
  const int ready = look(0);
  if (ready != 0) return ready;
  std::this_thread::sleep_for(timeout);
  return look(0);
}

}  // namespace ringrun
