#include "transport/connect/endpoint.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
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

#ifdef TCP_KEEPIDLE
// An idle connection sends probes after 5 s, then every 2 s; the fifth without an answer closes it.
constexpr int kIdleSeconds = 5;
constexpr int kProbeSeconds = 2;
constexpr int kProbes = 5;
#endif

void setOption(int fd, int level, int option, int value, const char* name) {
  if (::setsockopt(fd, level, option, &value, sizeof value) != 0) throwSystem("setsockopt", errno, name);
}

}  // namespace

void prepareConnection(int fd, SocketType socketType) {
  if (socketType != SocketType::Tcp) return;
  setOption(fd, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY");
  setOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE");
#ifdef TCP_KEEPIDLE
  setOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, kIdleSeconds, "TCP_KEEPIDLE");
  setOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, kProbeSeconds, "TCP_KEEPINTVL");
  setOption(fd, IPPROTO_TCP, TCP_KEEPCNT, kProbes, "TCP_KEEPCNT");
#endif
}

void endWhenUnanswered(int fd, SocketType socketType) {
#ifdef TCP_USER_TIMEOUT
  constexpr int kMilliseconds = 1000 * (kIdleSeconds + kProbes * kProbeSeconds);
  if (socketType == SocketType::Tcp) setOption(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kMilliseconds, "TCP_USER_TIMEOUT");
#else
  static_cast<void>(fd);
  static_cast<void>(socketType);
#endif
}

}  // namespace ringrun
