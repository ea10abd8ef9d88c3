#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/unique_fd.h"
#include "transport/wire.h"

namespace ringrun {

// What the connections of a group run over.
enum class Carrier : std::uint8_t { LocalSocket = 0, Tcp = 1 };

using Token = std::array<std::uint8_t, kTokenBytes>;

// Where a rank listens, as it says on its card in the store.
struct Endpoint {
  std::string socketName;  // abstract Unix socket, without the leading zero byte; empty where there is none
  std::string address;     // numeric IPv4 or IPv6
  std::uint16_t port = 0;
  Token token{};
};

std::string describe(const Endpoint& endpoint, Carrier carrier);

Token randomToken();
std::string hexOf(const Token& token);

// Connections go through pollSockets(), never through a call that blocks; small messages leave at once; a host that
// vanishes while nothing is under way to it is noticed by keep-alive probes after 15 s. Throws Failure.
void prepareConnection(int fd, Carrier carrier);

// A host that vanishes while something is under way to it, too, is noticed after 15 s: the kernel sends no probes then, and repeats what
// was not acknowledged for a quarter of an hour. Only for connections that carry little: a window that stays closed for so long,
// because the other rank computes and does not read, ends a connection too. Throws Failure.
void endWhenUnanswered(int fd, Carrier carrier);

}  // namespace ringrun
