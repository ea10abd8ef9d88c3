#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "transport/connect/authentication.h"
#include "transport/connect/record_cipher.h"
#include "transport/wire.h"

namespace ringrun {

// The dialler's side of the handshake on a connection that has been established. Never blocks.
class DialHandshake {
 public:
  // Sends `hello` with a new nonce. `authentication` must outlive this object.
  DialHandshake(int fd, const Hello& hello, const Token& listenerToken, const Authentication& authentication);

  enum class Progress { Waiting, Proven, Unproven, Ended };

  // Sends the proof when the listener's has arrived. Ended: the connection ended before.
  Progress advance();

  // After Ended: errno, or 0 if the listener closed the connection.
  int error() const { return error_; }

  // After Proven: encrypts the connection.
  std::unique_ptr<RecordCipher> cipher() const;

 private:
  int fd_;
  Hello hello_;
  const Token token_;
  const Authentication& authentication_;
  Challenge challenge_;
  std::size_t read_ = 0;  // bytes of `challenge_` that have arrived
  int error_ = 0;
};

// Reads the rest of a structure, of which `read` bytes have arrived, from a connection. Returns 1 when it is complete, 0 when the
// other side has closed the connection, else −1 with errno.
int readRest(int fd, void* into, std::size_t bytes, std::size_t& read);

}  // namespace ringrun
