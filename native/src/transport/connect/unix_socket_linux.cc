#include <unistd.h>

#include <cstddef>
#include <cstring>

#include "transport/connect/endpoint.h"
#include "transport/connect/unix_socket.h"

namespace ringrun {

std::string newSocketName() { return "ringrun-" + hexOf(randomToken()); }

std::string fileOfSocket(const std::string&) { return ""; }

// An abstract name begins with a zero byte and is as long as the address length states.
socklen_t addressOfSocket(const std::string& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  if (name.empty() || name.size() + 1 > sizeof address.sun_path) return 0;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

std::string describeSocket(const std::string& name) { return "Unix socket @" + name; }

std::string foreignUser(int fd) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return "an unknown user";
  return peer.uid != ::geteuid() && peer.uid != 0 ? "user " + std::to_string(peer.uid) : "";
}

}  // namespace ringrun
