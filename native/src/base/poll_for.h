#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>

namespace ringrun {

// poll(2) with a timeout of less than a millisecond: the number of ready interests, 0 after `timeout`, or −1 with errno.
int pollFor(pollfd* interests, std::size_t count, std::chrono::nanoseconds timeout);

}  // namespace ringrun
