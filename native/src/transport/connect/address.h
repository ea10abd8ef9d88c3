#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "transport/connect/endpoint.h"

namespace ringrun {

// A socket address of either type, for system calls.
struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }

  static SocketAddress ofUnixSocket(const std::string& name);
  // `address` must be numeric; throws Failure otherwise.
  static SocketAddress ofTcp(const std::string& address, std::uint16_t port);
  static SocketAddress of(const Endpoint& endpoint, SocketType socketType);

  std::uint16_t port() const;

  // The numeric address of TCP, without the port; "an unknown address" for any other.
  std::string host() const;
};

}  // namespace ringrun
