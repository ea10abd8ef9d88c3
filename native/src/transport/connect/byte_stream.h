#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/unique_fd.h"
#include "transport/connect/kept_bytes.h"

namespace ringrun {

// True if a system call of a socket that never blocks should be repeated later.
inline bool wouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

// Bytes that a relay may hold in each direction: what its two sockets and its buffer take (transport/relay/session.h).
constexpr std::size_t kMostInRelay = 1536 * 1024;

// The bytes of a connection, in both directions. Never blocks.
//
// A resumable stream outlives its TCP connection: it keeps the bytes that may not have arrived, and sends them again on the
// connection that resume() is given. Between the two, send() and receive() return −1 with EAGAIN. It loses a connection that
// did not answer; through a relay, also one that ended, because the relay may have ended.
class ByteStream {
 public:
  explicit ByteStream(UniqueFd fd) : fd_(std::move(fd)) {}

  // Makes it resumable, where the system reports what was delivered. Before the first byte is sent.
  void keepSent();

  bool isResumable() const { return isResumable_; }
  bool isLost() const { return !fd_; }

  // The rank that forwards it; no value: direct.
  const std::optional<int>& relay() const { return relay_; }
  void setRelay(const std::optional<int>& relay) { relay_ = relay; }
  bool isRelayed() const { return relay_.has_value(); }

  // −1, which poll() ignores, while it has no connection.
  int fd() const { return fd_.get(); }

  // The other side lacks bytes that were sent on an earlier connection.
  bool isBehind() const { return sent_ < kept_.end(); }

  // Bytes wait here that poll() does not know.
  bool hasArrived() const { return earlyDone_ < early_.size(); }

  // Like ::sendmsg, with these flags added: MSG_DONTWAIT, kNoSignal. The bytes in `lent` do not change until copyLent(). Other
  // bytes are copied, which takes a fifth of the time of a transfer over a fast link.
  ssize_t send(const msghdr& message, const LentBytes& lent = {});

  // Ends what senders lent. The second one: if `memory` was lent.
  void copyLent();
  void copyLent(const LentBytes& memory);

  // Like ::recvmsg with MSG_DONTWAIT.
  ssize_t receive(msghdr& message, int flags = 0);

  // See Messenger::limitUnsent. Holds for later connections too.
  void limitUnsent(int bytes);

  // Gives up the connection. Returns the number of bytes that have arrived.
  std::uint64_t lose();

  // Continues on `fd`; the other side has received `theirs` bytes. Returns false if bytes that it lacks are not kept.
  bool resume(UniqueFd fd, std::uint64_t theirs, const std::optional<int>& relay);

  // Sends what the other side of a resumed connection lacks. Returns true if nothing is left.
  bool sendKept();

 private:
  ssize_t again();
  bool endsConnection(int error) const;
  ssize_t takeEarly(msghdr& message);
  void dropAcknowledged();

  UniqueFd fd_;
  // The connection that was given up, open until another one continues it: if its way works again, the other side may still use
  // it, and a reset would tell that this process has ended.
  UniqueFd lost_;
  bool isResumable_ = false;
  std::optional<int> relay_;
  int mostUnsent_ = 0;
  KeptBytes kept_;
  std::uint64_t sent_ = 0;          // on this connection and those before; less than kept_.end() after resume()
  std::size_t looksAt_ = 0;         // size of kept_ at which the kernel is asked what was delivered
  std::uint64_t received_ = 0;      // from connections
  std::vector<std::uint8_t> early_;  // of a lost connection, received but not read
  std::size_t earlyDone_ = 0;
};

}  // namespace ringrun
