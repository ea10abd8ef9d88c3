#pragma once

#include <cstdint>
#include <string>

#include "base/unique_fd.h"
#include "transport/connect/endpoint.h"

namespace ringrun {

// A listening socket that nobody has to clean up after: it has no name in the file system.
struct Listener {
  UniqueFd fd;
  Carrier carrier = Carrier::Tcp;
  std::string socketName;  // of a local socket
  std::uint16_t port = 0;  // of a TCP socket: one that the system chose

  // An abstract Unix socket of a random name: visible inside this network namespace only. Linux only; throws Failure.
  static Listener localSocket();

  // `address` is one of this host's, numeric. Throws Failure.
  static Listener tcp(const std::string& address);
};

}  // namespace ringrun
