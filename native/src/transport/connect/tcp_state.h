#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "base/deadline.h"
#include "transport/connect/endpoint.h"

namespace ringrun {

// Calls for TCP connections that differ between systems.

// Options of IPPROTO_TCP.
extern const int kTcpNoDelay;
extern const int kTcpKeepIdle;      // seconds before the first keep-alive probe
extern const int kTcpKeepInterval;  // seconds between two probes
extern const int kTcpKeepCount;
extern const int kTcpMostUnsent;  // bytes that wait to be sent while poll() reports POLLOUT; 0: the system's limit

// Ends a connection whose sent bytes are not acknowledged for `silence`. Returns 0 or errno.
int setUnansweredTimeout(int fd, Milliseconds silence);

// Bytes that were sent or wait to be sent, and that the other side's kernel has not acknowledged. No value if the system does
// not report it.
std::optional<std::size_t> unacknowledgedOfTcp(int fd);

// No value if the system does not report it.
std::optional<Delivery> deliveryOfTcp(int fd);
std::optional<TcpPath> pathOfTcp(int fd);

}  // namespace ringrun
