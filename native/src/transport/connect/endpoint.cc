#include "transport/connect/endpoint.h"

#include <netinet/in.h>
#include <sys/socket.h>
#ifdef __linux__
#include <linux/tcp.h>  // its tcp_info has tcpi_bytes_acked and tcpi_notsent_bytes
#else
#include <netinet/tcp.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <random>

#include "base/failure.h"

namespace ringrun {

std::string describe(const Endpoint& endpoint, SocketType socketType) {
  if (socketType == SocketType::Unix) return "Unix socket @" + endpoint.socketName;
  const bool bracketed = endpoint.address.find(':') != std::string::npos;
  return (bracketed ? "[" + endpoint.address + "]" : endpoint.address) + ":" + std::to_string(endpoint.port);
}

Token randomToken() {
  std::random_device device;
  Token token;
  for (auto& byte : token) byte = static_cast<std::uint8_t>(device());
  return token;
}

std::string hexOf(const Token& token) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const auto byte : token) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

namespace {

void setOption(int fd, int level, int option, int value, const char* name) {
  if (::setsockopt(fd, level, option, &value, sizeof value) != 0) throwSystem("setsockopt", errno, name);
}

}  // namespace

// An idle connection sends the first probe after a third of the time and up to five more in the rest.
void prepareConnection(int fd, SocketType socketType, [[maybe_unused]] Milliseconds silence) {
  if (socketType != SocketType::Tcp) return;
  setOption(fd, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY");
  setOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE");
#ifdef TCP_KEEPIDLE
  constexpr int kMostProbes = 5;
  const int seconds = static_cast<int>(std::chrono::ceil<std::chrono::seconds>(silence).count());
  const int idle = std::max(seconds / 3, 1);
  const int interval = std::max((seconds - idle) / kMostProbes, 1);
  setOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, idle, "TCP_KEEPIDLE");
  setOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, interval, "TCP_KEEPINTVL");
  setOption(fd, IPPROTO_TCP, TCP_KEEPCNT, std::max((seconds - idle + interval - 1) / interval, 1), "TCP_KEEPCNT");
#endif
}

void endWhenUnanswered([[maybe_unused]] int fd, [[maybe_unused]] SocketType socketType, [[maybe_unused]] Milliseconds silence) {
#ifdef TCP_USER_TIMEOUT
  if (socketType != SocketType::Tcp) return;
  setOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(silence.count()), "TCP_USER_TIMEOUT");
#endif
}

std::optional<Delivery> deliveryOf([[maybe_unused]] int fd, [[maybe_unused]] SocketType socketType) {
#ifdef __linux__
  if (socketType != SocketType::Tcp) return std::nullopt;
  tcp_info info{};
  socklen_t length = sizeof info;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) return std::nullopt;
  if (length < offsetof(tcp_info, tcpi_notsent_bytes) + sizeof info.tcpi_notsent_bytes) return std::nullopt;
  // A segment that a firewall on this host dropped counts as not sent.
  return Delivery{info.tcpi_unacked > 0 || info.tcpi_notsent_bytes > 0, info.tcpi_bytes_acked,
                  Milliseconds{std::min(info.tcpi_last_ack_recv, info.tcpi_last_data_recv)}};
#else
  return std::nullopt;
#endif
}

// If the kernel knows, it reports why a router or the local network could not deliver the segments.
bool isSilence(int error) { return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH; }

}  // namespace ringrun
