#include "transport/relay/session.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/descriptors.h"
#include "base/failure.h"
#include "transport/connect/connect_attempt.h"
#include "transport/connect/relay_request.h"
#include "transport/connect/byte_stream.h"
#include "transport/wire.h"

namespace ringrun {
namespace {

// Of each socket of a session. The kernel takes twice as much: with the buffers less than kMostInRelay.
constexpr int kSocketBytes = 256 * 1024;

// Time for the probes that the kernel sends on an idle connection, in addition to the silence.
constexpr Milliseconds kProbeGrace{2000};
constexpr Milliseconds kSilenceInterval{500};

}  // namespace

bool RelayDirection::advance(int from, int to) {
  for (;;) {
    bool moved = false;
    if (mayReceive()) {
      const ssize_t got = ::recv(from, buffer_.get() + end_, kBytes - end_, MSG_DONTWAIT);
      if (got < 0 && !wouldBlock(errno)) return false;
      if (got == 0) hasEnded_ = true;
      if (got > 0) end_ += static_cast<std::size_t>(got);
      moved = got > 0;
    }
    if (hasToSend()) {
      const ssize_t sent = ::send(to, buffer_.get() + begin_, end_ - begin_, MSG_DONTWAIT | kNoSignal);
      if (sent < 0 && !wouldBlock(errno)) return false;
      if (sent > 0) begin_ += static_cast<std::size_t>(sent);
      moved |= sent > 0;
    }
    if (begin_ == end_) begin_ = end_ = 0;
    if (hasEnded() && !std::exchange(isShutDown_, true)) ::shutdown(to, SHUT_WR);
    if (!moved) return true;
  }
}

RelaySession::RelaySession(UniqueFd asking, const Endpoint& target, Milliseconds silence)
    : asking_(std::move(asking)),
      silence_(silence),
      connectUntil_(Clock::now() + relayTimeout(silence)),
      nextSilenceCheck_(Clock::now() + kSilenceInterval) {
  const auto connect = [&] {
    limitBuffers(asking_.get(), kSocketBytes);
    ConnectAttempt attempt = startConnecting(target, SocketType::Tcp, silence, kSocketBytes);
    error_ = attempt.error == EINPROGRESS ? 0 : attempt.error;
    target_ = std::move(attempt.fd);
  };
  if (failureOf(connect)) error_ = ECONNABORTED;
}

// An answer always fits into the buffer of a new connection.
void RelaySession::answer(int error) {
  RelayAnswer answer;
  answer.error = static_cast<std::uint32_t>(error);
  [[maybe_unused]] const ssize_t sent = ::send(asking_.get(), &answer, sizeof answer, MSG_DONTWAIT | kNoSignal);
}

bool RelaySession::advance() {
  if (!isConnected_) {
    if (error_ == 0) error_ = resultOfConnecting(target_.get());
    if (error_ == EINPROGRESS) {
      error_ = 0;
      if (Clock::now() < connectUntil_) return true;
      error_ = ETIMEDOUT;
    }
    answer(error_);
    if (error_ != 0) return false;
    isConnected_ = true;
  }
  if (!forth_.advance(asking_.get(), target_.get()) || !back_.advance(target_.get(), asking_.get())) return false;
  return !(forth_.hasEnded() && back_.hasEnded()) && !isSilent();
}

// A receiver that computes for long closes its window, but its kernel answers.
bool RelaySession::isSilent() {
  const auto now = Clock::now();
  if (now < nextSilenceCheck_) return false;
  nextSilenceCheck_ = now + kSilenceInterval;
  const auto isSilentOn = [&](const UniqueFd& fd) {
    const auto delivery = deliveryOf(fd.get(), SocketType::Tcp);
    return delivery && delivery->sinceReceived >= silence_ + kProbeGrace;
  };
  return isSilentOn(asking_) || isSilentOn(target_);
}

void RelaySession::addInterests(std::vector<pollfd>& interests) const {
  if (!isConnected_) {
    interests.push_back({target_.get(), POLLOUT, 0});
    return;
  }
  const auto add = [&](const UniqueFd& fd, const RelayDirection& in, const RelayDirection& out) {
    const int events = (in.mayReceive() ? POLLIN : 0) | (out.hasToSend() ? POLLOUT : 0);
    // Without events, poll() would report the end of a connection again and again.
    if (events != 0) interests.push_back({fd.get(), static_cast<short>(events), 0});
  };
  add(asking_, forth_, back_);
  add(target_, back_, forth_);
}

}  // namespace ringrun
