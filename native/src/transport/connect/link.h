#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "base/descriptors.h"
#include "base/unique_fd.h"
#include "transport/connect/directory.h"
#include "transport/connect/record_cipher.h"

namespace ringrun {

// True if a system call of a socket that never blocks should be repeated later.
inline bool wouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

// A connection to a rank that both sides have authenticated. Encrypted if it has a cipher. Never blocks.
class Link {
 public:
  Link() = default;
  explicit Link(UniqueFd fd, std::unique_ptr<RecordCipher> cipher = nullptr)
      : fd_(std::move(fd)), cipher_(std::move(cipher)) {}

  explicit operator bool() const { return static_cast<bool>(fd_); }
  int fd() const { return fd_.get(); }
  void reset() {
    fd_.reset();
    cipher_.reset();
  }

  // Like ::sendmsg, with these flags added: MSG_DONTWAIT, kNoSignal. On an encrypted link, unsent bytes must be sent
  // again unchanged.
  ssize_t send(const msghdr& message) {
    if (cipher_) return cipher_->send(fd_.get(), message);
    return ::sendmsg(fd_.get(), &message, MSG_DONTWAIT | kNoSignal);
  }

  // Like ::recvmsg with MSG_DONTWAIT. On an encrypted link, errno is EBADMSG if the bytes differ from those that the other side
  // sent; read until nothing is left before polling the descriptor.
  ssize_t receive(msghdr& message, int flags = 0) {
    if (cipher_) return cipher_->receive(fd_.get(), message);
    return ::recvmsg(fd_.get(), &message, MSG_DONTWAIT | flags);
  }

 private:
  UniqueFd fd_;
  std::unique_ptr<RecordCipher> cipher_;
};

// The reason for a connection's end with this errno: names the link if the other side did not answer, else the system
// call. `about`: the connection.
std::string describeEnd(const std::string& call, int error, const std::string& about, const Directory& directory, int peer);

// The reason for a failure with errno EBADMSG. `kind` of connection: "data".
std::string describeAltered(const std::string& kind, const Directory& directory, int peer);

}  // namespace ringrun
