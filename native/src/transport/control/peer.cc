#include "transport/control/peer.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/descriptors.h"
#include "transport/connect/dial.h"
#include "transport/control/messages.h"

namespace ringrun {
namespace {

constexpr std::size_t kReadBytes = 4096;

// Descriptors arrive with the bytes of their message. Shared memory is passed one allocation at a time, so few are in
// flight.
constexpr std::size_t kMaxDescriptors = 16;

// A peer that is silent for this part of the time after which it counts as dead is dialled on other ways.
constexpr int kSuspectedPart = 3;

constexpr char kMalformed[] = "it sent bytes that are not a control message";

void takeDescriptors(msghdr& message, std::deque<UniqueFd>& into) {
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr; control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(control) + i * sizeof fd, sizeof fd);
      closeOnExec(fd);
      into.emplace_back(fd);
    }
  }
}

}  // namespace

void ControlPeer::receive(const Directory& directory) {
  while (state == State::Connected) {
    std::uint8_t bytes[kReadBytes];
    alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
    iovec part{bytes, sizeof bytes};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t got = link.receive(message, kCloseOnExec);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (got < 0 && errno == EBADMSG) {
      failure.emplace(FailureCode::Altered, std::vector<InvolvedRank>{{rank, {}}}, describeAltered("control", directory, rank));
      state = State::Failed;
      return;
    }
    if (got < 0) {
      const int error = errno;
      isSilent = isSilence(error);
      return markDisconnected(describeEnd("recv", error, "its control connection", directory, rank));
    }
    if (got == 0) return markDisconnected("its control connection closed unexpectedly");
    takeDescriptors(message, descriptors_);
    if ((message.msg_flags & MSG_CTRUNC) != 0 || descriptors_.size() + passedMemory.size() > kMaxDescriptors) {
      return markDisconnected("it passed more descriptors than a rank of ringrun passes");
    }
    inbox_.insert(inbox_.end(), bytes, bytes + got);
    readMessages(directory.size());
  }
}

void ControlPeer::endIfSilent(const Directory& directory, Reconnector& reconnector, Clock::time_point now) {
  if (state != State::Connected) return;
  const Milliseconds silence = directory.silentPeerTimeout();
  const auto delivery = deliveryOf(link.fd(), directory.socketTypeTo(rank));
  bool isOver = delivery && silence_.isSilent(*delivery, silence, now);
  if (link.isResumable()) {
    if (!link.isLost() && (!delivery || !silence_.isSilent(*delivery, silence / kSuspectedPart, now))) {
      if (suspectedSince_) reconnector.trust(rank);
      suspectedSince_.reset();
      return;
    }
    if (!suspectedSince_) suspectedSince_ = now;
    reconnector.suspect(rank);
    isOver |= link.isLost() && now - *suspectedSince_ >= silence - silence / kSuspectedPart;
    isOver = isOver && !reconnector.isAccepted(rank);
  }
  if (!isOver) return;
  isSilent = true;
  const std::string tried = reconnector.problemOf(rank);
  markDisconnected(describeEnd("recv", ETIMEDOUT, "its control connection", directory, rank) + (tried.empty() ? "" : "; ") + tried);
}

void ControlPeer::end(const Failure& why) {
  if (state != State::Connected) return;
  if (why.code == FailureCode::PeerDied && why.ranks.front().rank == rank) return markDisconnected(why.detail);
  failure = why;
  state = State::Failed;
}

void ControlPeer::readMessages(int ranks) {
  std::size_t at = 0;
  ControlHeader header;
  while (inbox_.size() - at >= sizeof header) {
    std::memcpy(&header, inbox_.data() + at, sizeof header);
    if (header.magic != kControlMagic || header.bodyBytes > kMaxBodyBytes) {
      return markDisconnected(kMalformed);
    }
    if (inbox_.size() - at - sizeof header < header.bodyBytes) break;
    handle(header.type, inbox_.data() + at + sizeof header, header.bodyBytes, ranks);
    if (state != State::Connected) return;  // that was its last message
    at += sizeof header + header.bodyBytes;
  }
  inbox_.erase(inbox_.begin(), inbox_.begin() + static_cast<std::ptrdiff_t>(at));
}

void ControlPeer::handle(ControlType type, const std::uint8_t* body, std::size_t bytes, int ranks) {
  switch (type) {
    case ControlType::Status:
      if (bytes != sizeof(Fingerprint)) break;
      status.emplace();
      std::memcpy(&*status, body, sizeof(Fingerprint));
      isWaiting = true;
      return acknowledge();
    case ControlType::Outside:
      if (bytes != 0) break;
      isWaiting = false;
      return acknowledge();
    case ControlType::Message:
      if (bytes != 0 && bytes != sizeof(Fingerprint)) break;
      messageWait.reset();
      if (bytes != 0) std::memcpy(&messageWait.emplace(), body, sizeof(Fingerprint));
      return acknowledge();
    case ControlType::Read: {
      ReadBody read;
      if (bytes != sizeof read) break;
      std::memcpy(&read, body, sizeof read);
      if (read.messages > unread) break;
      unread -= read.messages;
      return;
    }
    case ControlType::Abort: {
      DecodedAbort abort = decodeAbort(body, bytes, rank, ranks);
      failure = std::move(abort.failure);
      failedSequence = abort.sequence;
      state = State::Failed;
      return;
    }
    case ControlType::Leave:
      if (bytes != 0) break;
      state = State::Left;
      return;
    case ControlType::Memory: {
      PassedMemoryBody memory;
      if (bytes != sizeof memory || descriptors_.empty()) break;
      std::memcpy(&memory, body, sizeof memory);
      passedMemory.push_back({std::move(descriptors_.front()), memory.bytes});
      descriptors_.pop_front();
      return;
    }
  }
  markDisconnected(kMalformed);
}

// Reports to the peer how much was read, so that it does not send more than the connection can hold.
void ControlPeer::acknowledge() {
  if (++toAcknowledge_ < kReadBatch) return;
  ReadBody read;
  read.messages = std::exchange(toAcknowledge_, 0);
  send(encodeMessage(ControlType::Read, bytesOf(read)));
}

void ControlPeer::markDisconnected(std::string how) {
  state = State::Disconnected;
  disconnectReason = std::move(how);
}

void ControlPeer::send(const std::vector<std::uint8_t>& bytes) noexcept {
  if (!link) return;
  iovec part{const_cast<std::uint8_t*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  [[maybe_unused]] const ssize_t sent = link.send(message);
}

}  // namespace ringrun
