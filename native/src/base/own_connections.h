#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ringrun {

// TCP connections that a library of this process has accepted. A library that accepts without a limit leaves the choice
// of connections to close to its caller, who does not have their descriptors. Any thread may call these functions.

struct OwnConnection {
  int fd;
  // Address and port of the other side.
  std::string peer;
  // Bytes sent to the peer that it has acknowledged.
  std::uint64_t ackedBytes;
  // Milliseconds since this side sent anything.
  std::uint32_t silentMs;
};

// The open connections whose local port is `port`. Needs no free descriptor after the first call. Empty on systems other
// than Linux, and without /proc.
std::vector<OwnConnection> ownConnectionsAt(std::uint16_t port);

// Shuts down both directions of the connection, so that its owner closes it, if `fd` is still the connection to `peer`.
// Returns false otherwise: its owner has closed it. Never affects another connection.
bool shutDownConnection(int fd, const std::string& peer);

}  // namespace ringrun
