#include "base/poll_for.h"

#include <ctime>

namespace ringrun {

int pollFor(pollfd* interests, std::size_t count, std::chrono::nanoseconds timeout) {
  timespec limit{};
  limit.tv_sec = static_cast<time_t>(timeout.count() / 1'000'000'000);
  limit.tv_nsec = static_cast<long>(timeout.count() % 1'000'000'000);
  return ::ppoll(interests, static_cast<nfds_t>(count), &limit, nullptr);
}

}  // namespace ringrun
