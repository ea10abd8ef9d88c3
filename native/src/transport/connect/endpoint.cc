#include "transport/connect/endpoint.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <random>

#include "base/descriptors.h"
#include "base/failure.h"
#include "transport/connect/tcp_state.h"
#include "transport/connect/unix_socket.h"

namespace ringrun {

std::string nameOf(int rank, const Endpoint& endpoint) {
  const std::string host = endpoint.hostName.empty() ? "" : "host " + endpoint.hostName + ", ";
  return "rank " + std::to_string(rank) + " (" + host + endpoint.address + ")";
}

std::string describe(const Endpoint& endpoint, SocketType socketType) {
  if (socketType == SocketType::Unix) return describeSocket(endpoint.socketName);
  const bool bracketed = endpoint.address.find(':') != std::string::npos;
  return (bracketed ? "[" + endpoint.address + "]" : endpoint.address) + ":" + std::to_string(endpoint.port);
}

std::string inSeconds(Milliseconds time) {
  std::string text = std::to_string(time.count() / 1000);
  const auto rest = time.count() % 1000;
  if (rest != 0) {
    text += "." + std::to_string(1000 + rest).substr(1);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text + " s";
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
  const int error = setSocketOption(fd, level, option, value);
  if (error != 0) throwSystem("setsockopt", error, name);
}

}  // namespace

// An idle connection sends the first probe after a third of the time and up to five more in the rest.
void prepareConnection(int fd, SocketType socketType, Milliseconds silence) {
  if (socketType != SocketType::Tcp) return;
  setOption(fd, IPPROTO_TCP, kTcpNoDelay, 1, "TCP_NODELAY");
  setOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1, "SO_KEEPALIVE");
  constexpr int kMostProbes = 5;
  const int seconds = static_cast<int>(std::chrono::ceil<std::chrono::seconds>(silence).count());
  const int idle = std::max(seconds / 3, 1);
  const int interval = std::max((seconds - idle) / kMostProbes, 1);
  setOption(fd, IPPROTO_TCP, kTcpKeepIdle, idle, "TCP_KEEPIDLE");
  setOption(fd, IPPROTO_TCP, kTcpKeepInterval, interval, "TCP_KEEPINTVL");
  setOption(fd, IPPROTO_TCP, kTcpKeepCount, std::max((seconds - idle + interval - 1) / interval, 1), "TCP_KEEPCNT");
}

void endWhenUnanswered(int fd, SocketType socketType, Milliseconds silence) {
  if (socketType != SocketType::Tcp) return;
  const int error = setUnansweredTimeout(fd, silence);
  if (error != 0) throwSystem("setsockopt", error, "TCP_USER_TIMEOUT");
}

void limitBuffers(int fd, int bytes) {
  setOption(fd, SOL_SOCKET, SO_RCVBUF, bytes, "SO_RCVBUF");
  setOption(fd, SOL_SOCKET, SO_SNDBUF, bytes, "SO_SNDBUF");
}

std::optional<Delivery> deliveryOf(int fd, SocketType socketType) {
  return socketType == SocketType::Tcp ? deliveryOfTcp(fd) : std::nullopt;
}

std::optional<std::chrono::microseconds> roundTripOf(int fd, SocketType socketType) {
  const auto path = socketType == SocketType::Tcp ? pathOfTcp(fd) : std::nullopt;
  if (!path) return std::nullopt;
  return path->shortestRoundTrip;
}

// If the kernel knows, it reports why a router or the local network could not deliver the segments.
bool isSilence(int error) { return error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH; }

}  // namespace ringrun
