#include "transport/connect/byte_stream.h"

#include <netinet/in.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/descriptors.h"
#include "transport/connect/endpoint.h"
#include "transport/connect/tcp_state.h"

namespace ringrun {
namespace {

// Bytes after which the kernel is asked again what was delivered: asking takes 0.2 µs.
constexpr std::size_t kBetweenLooks = 256 * 1024;

// Read from a lost connection: more than any receive buffer holds.
constexpr std::size_t kMostEarly = 64 * 1024 * 1024;
constexpr std::size_t kReadBytes = 256 * 1024;

}  // namespace

void ByteStream::keepSent() { isResumable_ = unacknowledgedOfTcp(fd_.get()).has_value(); }

ssize_t ByteStream::again() {
  errno = EAGAIN;
  return -1;
}

bool ByteStream::endsConnection(int error) const {
  return isSilence(error) || (isRelayed() && (error == ECONNRESET || error == EPIPE));
}

ssize_t ByteStream::send(const msghdr& message, const LentBytes& lent) {
  if (!isResumable_) return ::sendmsg(fd_.get(), &message, MSG_DONTWAIT | kNoSignal);
  if (isLost() || !sendKept()) return again();
  const ssize_t sent = ::sendmsg(fd_.get(), &message, MSG_DONTWAIT | kNoSignal);
  if (sent < 0) {
    if (!endsConnection(errno)) return -1;
    lose();
    return again();
  }
  kept_.append(message.msg_iov, static_cast<std::size_t>(sent), lent);
  sent_ = kept_.end();
  if (kept_.size() >= looksAt_) dropAcknowledged();
  return sent;
}

ssize_t ByteStream::receive(msghdr& message, int flags) {
  if (!isResumable_) return ::recvmsg(fd_.get(), &message, MSG_DONTWAIT | flags);
  if (hasArrived()) return takeEarly(message);
  if (isLost()) return again();
  const ssize_t got = ::recvmsg(fd_.get(), &message, MSG_DONTWAIT | flags);
  if (got > 0) received_ += static_cast<std::uint64_t>(got);
  if (got > 0 || (got == 0 && !isRelayed()) || (got < 0 && !endsConnection(errno))) return got;
  lose();
  return again();
}

ssize_t ByteStream::takeEarly(msghdr& message) {
  message.msg_controllen = 0;
  message.msg_flags = 0;
  std::size_t taken = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(message.msg_iovlen); ++i) {
    const iovec& part = message.msg_iov[i];
    const std::size_t bytes = std::min(part.iov_len, early_.size() - earlyDone_);
    if (bytes > 0) std::memcpy(part.iov_base, early_.data() + earlyDone_, bytes);
    earlyDone_ += bytes;
    taken += bytes;
  }
  if (!hasArrived()) {
    early_ = {};
    earlyDone_ = 0;
  }
  return static_cast<ssize_t>(taken);
}

// The kernel counts what arrived at the host of the other side, or of the relay.
void ByteStream::dropAcknowledged() {
  const std::size_t unacknowledged = unacknowledgedOfTcp(fd_.get()).value_or(kept_.size());
  const std::size_t needed = std::min(kept_.size(), unacknowledged + (isRelayed() ? kMostInRelay : 0));
  kept_.dropUntil(kept_.end() - needed);
  looksAt_ = needed + kBetweenLooks;
}

// Without a connection, nothing is known of what arrived.
void ByteStream::copyLent() {
  if (!kept_.hasLent()) return;
  if (!isLost() && !isBehind()) dropAcknowledged();
  kept_.copyLent();
}

void ByteStream::copyLent(const LentBytes& memory) {
  if (kept_.refersTo(memory)) copyLent();
}

void ByteStream::limitUnsent(int bytes) {
  mostUnsent_ = bytes;
  // A kernel without it buffers more, which only takes longer.
  static_cast<void>(setSocketOption(fd_.get(), IPPROTO_TCP, kTcpMostUnsent, bytes));
}

// The kernel has acknowledged what it received, so the other side does not keep it.
std::uint64_t ByteStream::lose() {
  while (fd_ && early_.size() < kMostEarly) {
    const std::size_t had = early_.size();
    early_.resize(had + kReadBytes);
    const ssize_t got = ::recv(fd_.get(), early_.data() + had, kReadBytes, MSG_DONTWAIT);
    early_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    if (got <= 0) break;
    received_ += static_cast<std::uint64_t>(got);
  }
  if (fd_) lost_ = std::move(fd_);
  return received_;
}

bool ByteStream::resume(UniqueFd fd, std::uint64_t theirs, const std::optional<int>& relay) {
  if (theirs < kept_.begin() || theirs > kept_.end()) return false;
  fd_ = std::move(fd);
  lost_.reset();
  relay_ = relay;
  kept_.dropUntil(theirs);
  sent_ = theirs;
  looksAt_ = 0;
  if (mostUnsent_ != 0) limitUnsent(mostUnsent_);
  sendKept();
  return true;
}

bool ByteStream::sendKept() {
  while (!isLost() && sent_ < kept_.end()) {
    const iovec part = kept_.from(sent_);
    const ssize_t sent = ::send(fd_.get(), part.iov_base, part.iov_len, MSG_DONTWAIT | kNoSignal);
    if (sent < 0 && wouldBlock(errno)) return false;
    if (sent < 0) lose();
    if (sent > 0) sent_ += static_cast<std::uint64_t>(sent);
  }
  return !isLost();
}

}  // namespace ringrun
