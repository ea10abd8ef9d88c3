#include "base/own_connections.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <mutex>

#include "base/unique_fd.h"

namespace ringrun {

namespace {

// What the functions need while this process has no free descriptors.
struct HeldDescriptors {
  DIR* all = ::opendir("/proc/self/fd");
  UniqueFd nothing{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  // A copy of the connection that is being examined: its owner may close the original meanwhile.
  UniqueFd copy{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
  std::mutex mutex;

  bool areComplete() const { return all != nullptr && nothing && copy; }
};

HeldDescriptors& heldDescriptors() {
  static HeldDescriptors held;
  return held;
}

std::string textOf(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "";
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(&address);
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&address);
  const bool isV4 = address.ss_family == AF_INET;
  ::inet_ntop(address.ss_family, isV4 ? static_cast<const void*>(&v4->sin_addr) : &v6->sin6_addr, text, sizeof text);
  return std::string(text) + " " + std::to_string(ntohs(isV4 ? v4->sin_port : v6->sin6_port));
}

bool isTcp(const sockaddr_storage& address) { return address.ss_family == AF_INET || address.ss_family == AF_INET6; }

bool hasLocalPort(int fd, std::uint16_t port) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0 || !isTcp(address)) return false;
  // The port is at the same place in both kinds of address.
  return reinterpret_cast<const sockaddr_in*>(&address)->sin_port == htons(port);
}

// Empty if the socket is not connected, as a listening one.
std::string peerOf(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0 || !isTcp(address)) return "";
  return textOf(address);
}

}  // namespace

std::vector<OwnConnection> ownConnectionsAt(std::uint16_t port) {
  std::vector<OwnConnection> found;
  HeldDescriptors& held = heldDescriptors();
  const std::lock_guard lock(held.mutex);
  if (!held.areComplete()) return found;
  ::rewinddir(held.all);
  while (const dirent* entry = ::readdir(held.all)) {
    if (entry->d_name[0] == '.') continue;
    const int fd = std::atoi(entry->d_name);
    if (!hasLocalPort(fd, port)) continue;
    std::string peer = peerOf(fd);
    tcp_info info{};
    socklen_t length = sizeof info;
    const bool isKnown = !peer.empty() && ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
                         length >= offsetof(tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked;
    if (isKnown) found.push_back({fd, std::move(peer), info.tcpi_bytes_acked, info.tcpi_last_data_sent});
  }
  return found;
}

bool shutDownConnection(int fd, const std::string& peer) {
  HeldDescriptors& held = heldDescriptors();
  const std::lock_guard lock(held.mutex);
  if (!held.areComplete() || ::dup3(fd, held.copy.get(), O_CLOEXEC) < 0) return false;
  const bool isSame = peerOf(held.copy.get()) == peer;
  if (isSame) ::shutdown(held.copy.get(), SHUT_RDWR);
  ::dup3(held.nothing.get(), held.copy.get(), O_CLOEXEC);
  return isSame;
}

}  // namespace ringrun
