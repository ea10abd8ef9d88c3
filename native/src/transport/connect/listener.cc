#include "transport/connect/listener.h"

#include <sys/socket.h>

#include <cerrno>

#include "base/descriptors.h"
#include "base/failure.h"
#include "transport/connect/address.h"
#include "transport/connect/unix_socket.h"

namespace ringrun {
namespace {

// The kernel lowers this to its own limit (net.core.somaxconn). All ranks of a large job may connect to one
// rank at once.
constexpr int kBacklog = 4096;

UniqueFd listenAt(const SocketAddress& at, const std::string& about) {
  UniqueFd fd = openSocket(at.family());
  if (!fd) throwSystem("socket", errno, about);
  if (::bind(fd.get(), at.get(), at.length) != 0) throwSystem("bind", errno, about);
  if (::listen(fd.get(), kBacklog) != 0) throwSystem("listen", errno, about);
  return fd;
}

}  // namespace

Listener Listener::unixSocket() {
  Listener listener;
  listener.socketType = SocketType::Unix;
  listener.socketName = newSocketName();
  listener.fd = listenAt(SocketAddress::ofUnixSocket(listener.socketName), describeSocket(listener.socketName));
  listener.file = SocketFile(fileOfSocket(listener.socketName));
  return listener;
}

Listener Listener::tcp(const std::string& address) {
  Listener listener;
  listener.fd = listenAt(SocketAddress::ofTcp(address, 0), address);
  SocketAddress bound;
  bound.length = sizeof bound.storage;
  if (::getsockname(listener.fd.get(), bound.get(), &bound.length) != 0) throwSystem("getsockname", errno, address);
  listener.port = bound.port();
  return listener;
}

}  // namespace ringrun
