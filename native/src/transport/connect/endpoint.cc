#include "transport/connect/endpoint.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <random>

#include "base/failure.h"

namespace ringrun {

std::string describe(const Endpoint& endpoint, Carrier carrier) {
  if (carrier == Carrier::LocalSocket) return "Unix socket @" + endpoint.socketName;
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

void prepareConnection(int fd, Carrier carrier) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0) throwSystem("fcntl", errno, "O_NONBLOCK");
  if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) throwSystem("fcntl", errno, "FD_CLOEXEC");
  if (carrier != Carrier::Tcp) return;
  setOption(fd, IPPROTO_TCP, TCP_NODELAY, 1, "TCP_NODELAY");
  setOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE");
#ifdef TCP_KEEPIDLE
  setOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, 5, "TCP_KEEPIDLE");
  setOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, 2, "TCP_KEEPINTVL");
  setOption(fd, IPPROTO_TCP, TCP_KEEPCNT, 5, "TCP_KEEPCNT");
#endif
}

}  // namespace ringrun
