#pragma once

#include <cstdint>
#include <string>

#include "base/unique_fd.h"
#include "transport/connect/endpoint.h"

namespace ringrun {

// A listening socket without a name in the file system, so that no file is left to delete.
struct Listener {
  UniqueFd fd;
  SocketType socketType = SocketType::Tcp;
  std::string socketName;  // of a Unix socket
  std::uint16_t port = 0;  // of a TCP socket, chosen by the system

  // An abstract Unix socket with a random name, visible only in this network namespace. Linux only. Throws
  // Failure.
  static Listener unixSocket();

  // `address`: a numeric address of this host. Throws Failure.
  static Listener tcp(const std::string& address);
};

}  // namespace ringrun
