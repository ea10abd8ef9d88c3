#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/connect/authentication.h"
#include "transport/connect/byte_stream.h"

namespace ringrun {

// Encrypts one connection with AES-256-GCM: records of at most kMaxRecordBytes, numbered in each direction. The number is
// the nonce, so a record that is changed, dropped, repeated or reordered does not decrypt. Each direction has its own key.
class RecordCipher {
 public:
  // Throws Failure.
  RecordCipher(const Key& sendingKey, const Key& receivingKey);

  // Like ::sendmsg. The bytes of a record count as sent when the kernel has accepted all of the record. Until then,
  // `message` must begin with the same bytes.
  ssize_t send(ByteStream& stream, const msghdr& message);

  // Like ::recvmsg, but EAGAIN means that no decrypted bytes are left. EBADMSG: a record did not decrypt.
  ssize_t receive(ByteStream& stream, msghdr& message);

 private:
  struct FreeContext {
    void operator()(void* context) const;
  };
  struct Direction {
    std::unique_ptr<void, FreeContext> context;  // EVP_CIPHER_CTX
    std::uint64_t records = 0;
  };

  static Direction begin(const Key& key, bool encrypts);
  bool seal(const msghdr& message);
  enum class Opened { Record, Incomplete, Altered };
  Opened openNext();

  Direction sending_;
  std::vector<std::uint8_t> outbox_;  // a record
  std::size_t outboxBytes_ = 0;       // its bytes; 0: none
  std::size_t outboxSent_ = 0;
  std::size_t outboxPlain_ = 0;  // bytes of the message in it

  Direction receiving_;
  std::vector<std::uint8_t> inbox_;
  std::size_t inboxBegin_ = 0;  // of the records that are not decrypted
  std::size_t inboxEnd_ = 0;
  std::size_t plainBegin_ = 0;  // of the decrypted bytes, which lie before them
  std::size_t plainEnd_ = 0;
  bool isAltered_ = false;
};

}  // namespace ringrun
