#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "transport/connect/endpoint.h"
#include "transport/wire.h"

namespace ringrun {

// A key of 32 bytes. The key of a group is derived from the job's secret; zeroes without a secret.
using Key = std::array<std::uint8_t, 32>;

// Side of a connection.
enum class Side { Dialler, Listener };

// Proves to the other side of a connection that this process has the group's key and the listener's token, without sending
// either: HMAC-SHA256 over the data that both sides sent.
class Authentication {
 public:
  // `encrypts`: TCP connections are encrypted. Throws Failure if Node does not export OpenSSL.
  Authentication(const Key& key, bool encrypts);

  // Protection of the connections over sockets of this type. Equal on all ranks.
  Protection protectionOf(SocketType socketType) const {
    return encrypts_ && socketType == SocketType::Tcp ? Protection::Encrypted : Protection::Authenticated;
  }

  // The proof of one side for one connection. The sides have different proofs, so that neither can be reflected.
  Proof proofOf(Side side, const Token& listenerToken, const Hello& hello, const Nonce& listenerNonce) const;

  // Constant time: takes equally long for all wrong proofs.
  bool isProof(const Proof& given, Side side, const Token& listenerToken, const Hello& hello,
               const Nonce& listenerNonce) const;

  // The key with which one side encrypts its data on this connection.
  Key keyOf(Side side, const Token& listenerToken, const Hello& hello, const Nonce& listenerNonce) const;

 private:
  Key derive(const char (&label)[17], const Token& listenerToken, const Hello& hello, const Nonce& listenerNonce) const;

  Key key_;
  bool encrypts_;
};

// Throws Failure.
Nonce randomNonce();

}  // namespace ringrun
