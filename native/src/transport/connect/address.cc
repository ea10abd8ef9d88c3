#include "transport/connect/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cstring>
#include <memory>

#include "base/failure.h"
#include "transport/connect/unix_socket.h"

namespace ringrun {

SocketAddress SocketAddress::ofUnixSocket(const std::string& name) {
  sockaddr_un address;
  SocketAddress result;
  result.length = addressOfSocket(name, address);
  if (result.length == 0) throw Failure(FailureCode::System, {}, "'" + name + "' is not a valid Unix socket name");
  std::memcpy(&result.storage, &address, sizeof address);
  return result;
}

SocketAddress SocketAddress::ofTcp(const std::string& address, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (status != 0) {
    throw Failure(FailureCode::System, {}, "'" + address + "' is not a numeric address: " + ::gai_strerror(status));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
  SocketAddress result;
  std::memcpy(&result.storage, found->ai_addr, found->ai_addrlen);
  result.length = found->ai_addrlen;
  return result;
}

SocketAddress SocketAddress::of(const Endpoint& endpoint, SocketType socketType) {
  return socketType == SocketType::Tcp ? ofTcp(endpoint.address, endpoint.port) : ofUnixSocket(endpoint.socketName);
}

std::uint16_t SocketAddress::port() const {
  if (family() == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port);
  return ntohs(reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
}

std::string SocketAddress::host() const {
  char host[NI_MAXHOST];
  const bool isKnown = ::getnameinfo(get(), length, host, sizeof host, nullptr, 0, NI_NUMERICHOST) == 0;
  return isKnown ? host : "an unknown address";
}

}  // namespace ringrun
