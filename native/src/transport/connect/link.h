#pragma once

#include <sys/socket.h>

#include <memory>
#include <string>
#include <utility>

#include "transport/connect/directory.h"
#include "transport/connect/record_cipher.h"
#include "transport/connect/byte_stream.h"

namespace ringrun {

// A connection to a rank that both sides have authenticated. Encrypted if it has a cipher. Never blocks.
class Link {
 public:
  Link() = default;
  explicit Link(std::shared_ptr<ByteStream> stream, std::unique_ptr<RecordCipher> cipher = nullptr)
      : stream_(std::move(stream)), cipher_(std::move(cipher)) {}

  explicit operator bool() const { return stream_ != nullptr; }
  int fd() const { return stream_ ? stream_->fd() : -1; }
  bool isLost() const { return stream_ && stream_->isLost(); }
  bool isRelayed() const { return stream_ && stream_->isRelayed(); }
  bool isResumable() const { return stream_ && stream_->isResumable(); }
  bool hasArrived() const { return stream_ && stream_->hasArrived(); }
  void limitUnsent(int bytes) {
    if (stream_) stream_->limitUnsent(bytes);
  }
  void reset() {
    stream_.reset();
    cipher_.reset();
  }

  // Like ByteStream::send. On an encrypted link, unsent bytes must be sent again unchanged.
  ssize_t send(const msghdr& message, const LentBytes& lent = {}) {
    return cipher_ ? cipher_->send(*stream_, message) : stream_->send(message, lent);
  }
  void copyLent() {
    if (stream_) stream_->copyLent();
  }
  void copyLent(const LentBytes& memory) {
    if (stream_) stream_->copyLent(memory);
  }

  // Like ByteStream::receive. On an encrypted link, errno is EBADMSG if the bytes differ from those that the other side sent; read
  // until nothing is left before polling the descriptor.
  ssize_t receive(msghdr& message, int flags = 0) {
    return cipher_ ? cipher_->receive(*stream_, message) : stream_->receive(message, flags);
  }

 private:
  std::shared_ptr<ByteStream> stream_;
  std::unique_ptr<RecordCipher> cipher_;
};

// The reason for a connection's end with this errno: names the link if the other side did not answer, else the system
// call. `about`: the connection.
std::string describeEnd(const std::string& call, int error, const std::string& about, const Directory& directory, int peer);

// The reason for a failure with errno EBADMSG. `kind` of connection: "data".
std::string describeAltered(const std::string& kind, const Directory& directory, int peer);

}  // namespace ringrun
