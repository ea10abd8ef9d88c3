#include "transport/connect/dial_handshake.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>

#include "base/descriptors.h"
#include "transport/connect/byte_stream.h"

namespace ringrun {

int readRest(int fd, void* into, std::size_t bytes, std::size_t& read) {
  while (read < bytes) {
    const ssize_t got = ::recv(fd, static_cast<std::uint8_t*>(into) + read, bytes - read, MSG_DONTWAIT);
    if (got <= 0) return static_cast<int>(got);
    read += static_cast<std::size_t>(got);
  }
  return 1;
}

// A Hello always fits into the buffer of a new connection. A connection that broke meanwhile fails at its first use.
DialHandshake::DialHandshake(int fd, const Hello& hello, const Token& listenerToken, const Authentication& authentication)
    : fd_(fd), hello_(hello), token_(listenerToken), authentication_(authentication) {
  hello_.nonce = randomNonce();
  [[maybe_unused]] const ssize_t sent = ::send(fd_, &hello_, sizeof hello_, kNoSignal);
}

DialHandshake::Progress DialHandshake::advance() {
  const int result = readRest(fd_, &challenge_, sizeof challenge_, read_);
  if (result < 0 && wouldBlock(errno)) return Progress::Waiting;
  if (result <= 0) {
    error_ = result == 0 ? 0 : errno;
    return Progress::Ended;
  }
  const bool isProven = authentication_.isProof(challenge_.proof, Side::Listener, token_, hello_, challenge_.nonce);
  const Proof own = isProven ? authentication_.proofOf(Side::Dialler, token_, hello_, challenge_.nonce) : kNoProof;
  [[maybe_unused]] const ssize_t sent = ::send(fd_, own.data(), own.size(), kNoSignal);
  return isProven ? Progress::Proven : Progress::Unproven;
}

std::unique_ptr<RecordCipher> DialHandshake::cipher() const {
  if (hello_.protection == Protection::Authenticated) return nullptr;
  const auto keyOf = [&](Side side) { return authentication_.keyOf(side, token_, hello_, challenge_.nonce); };
  return std::make_unique<RecordCipher>(keyOf(Side::Dialler), keyOf(Side::Listener));
}

}  // namespace ringrun
