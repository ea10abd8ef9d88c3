#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "base/unique_fd.h"
#include "transport/wire.h"

namespace ringrun {

// Socket type of the connections of a group.
enum class SocketType : std::uint8_t { Unix = 0, Tcp = 1 };

using Token = std::array<std::uint8_t, kTokenBytes>;

// The address at which a rank listens, from its RankInfo in the store.
struct Endpoint {
  std::string socketName;  // abstract Unix socket, without the leading zero byte; empty without one
  std::string address;     // numeric IPv4 or IPv6
  std::uint16_t port = 0;
  std::uint16_t relayPort = 0;  // at which it forwards connections to others (transport/relay/service.h); 0: it does not
  Token token{};
  std::string hostName;  // empty if unknown
};

// Time without any answer after which the host of a peer counts as vanished.
constexpr Milliseconds kDefaultSilentPeerTimeout{15'000};

std::string describe(const Endpoint& endpoint, SocketType socketType);

// "rank 1 (host node1, 10.0.0.2)"
std::string nameOf(int rank, const Endpoint& endpoint);

// "15 s", "1.5 s"
std::string inSeconds(Milliseconds time);

Token randomToken();
std::string hexOf(const Token& token);

// Disables Nagle's algorithm and enables keep-alive probes, which detect a vanished host after `silence` if no data is
// in flight. The kernel counts whole seconds. Throws Failure.
void prepareConnection(int fd, SocketType socketType, Milliseconds silence);

// Detects a vanished host after `silence` even while data is in flight: the kernel then sends no probes, and
// retransmits for a quarter of an hour by default. Only for connections that carry little data: a window that
// stays closed for so long, because the peer computes and does not read, ends the connection too. Throws Failure.
void endWhenUnanswered(int fd, SocketType socketType, Milliseconds silence);

// Limits the memory of the socket in each direction, to about twice `bytes`. Throws Failure.
void limitBuffers(int fd, int bytes);

// What the kernel knows about the other side of a TCP connection.
struct Delivery {
  bool isPending = false;          // bytes that were sent are not acknowledged yet
  std::uint64_t acknowledged = 0;  // bytes
  Milliseconds sinceReceived{0};   // since the last segment, data or acknowledgement
};

// What the kernel knows about the way of a TCP connection.
struct TcpPath {
  std::chrono::microseconds roundTrip{0};          // the average of the last ones
  std::chrono::microseconds shortestRoundTrip{0};  // that it has seen
  std::uint64_t sent = 0;                          // segments, with those that were sent again
  std::uint64_t resent = 0;
  std::uint64_t bytesPerSecond = 0;  // that have arrived lately, while there were bytes to send
};

// No value for a Unix socket, and if the system does not tell.
std::optional<Delivery> deliveryOf(int fd, SocketType socketType);

// The shortest round trip that the kernel has seen on a TCP connection. No value for a Unix socket, and if the system
// does not tell.
std::optional<std::chrono::microseconds> roundTripOf(int fd, SocketType socketType);

// True if this errno means that the other side of a connection did not answer.
bool isSilence(int error);

}  // namespace ringrun
