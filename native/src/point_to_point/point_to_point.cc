#include "point_to_point/point_to_point.h"

#include <poll.h>

#include <utility>

#include "base/usable_cpus.h"
#include "base/wait.h"

namespace ringrun {
namespace {

// Rounds without progress before sleeping: about 20 µs. Only if every rank can have its own processor.
constexpr int kSpins = 20;

}  // namespace

PointToPoint::PointToPoint(Connections& connections, const std::atomic<bool>& cancelled, const WaitReports& reports)
    : connections_(connections),
      reports_(reports),
      spins_(connections.size() <= usableCpus() ? kSpins : 0),
      sends_(connections.directory(), cancelled, reports_),
      receives_(connections),
      waits_(connections, sends_, receives_, cancelled, reports_) {}

bool PointToPoint::post(Message message) {
  const std::lock_guard lock(mutex_);
  posted_.push_back(std::move(message));
  if (!busy_.exchange(true)) return true;
  notifier_.notify();
  return false;
}

std::optional<OperationFailure> PointToPoint::run() {
  Fingerprint fingerprint;  // of the message that failed
  double timeoutMs = 0;
  const std::optional<Failure> failure = failureOf([&] {
    try {
      exchange();
    } catch (const MessageFailure& failed) {
      fingerprint = failed.fingerprint;
      timeoutMs = failed.timeoutMs;
      throw;
    }
  });
  if (!failure) return std::nullopt;
  return OperationFailure{*failure, fingerprint, timeoutMs};
}

void PointToPoint::exchange() {
  int idle = 0;
  for (;;) {
    acceptPosted();
    const bool advanced = advance();
    if (stopWhenDone()) return;
    if (advanced) {
      idle = 0;
    } else if (++idle > spins_) {
      wait();
      checkWhileWaiting();
    }
  }
}

void PointToPoint::acceptPosted() {
  notifier_.clear();
  std::vector<Message> messages;
  {
    const std::lock_guard lock(mutex_);
    messages.swap(posted_);
    isAccepting_ = !messages.empty();
  }
  for (auto& message : messages) {
    const double timeoutMs = message.timeoutMs;
    Posted posted{std::move(message), Deadline::after(timeoutMs)};
    if (ended_) {
      posted.message.done(ended_, -1);
    } else if (posted.message.fingerprint.op == Op::Send) {
      sends_.begin(std::move(posted));
    } else {
      receives_.begin(std::move(posted));
    }
  }
  isAccepting_ = false;
}

bool PointToPoint::advance() {
  bool moved = receives_.acceptConnections();
  moved |= sends_.advance();
  moved |= receives_.advance();
  return moved;
}

// Under the lock, so that a message posted concurrently is either seen here or restarts run().
bool PointToPoint::stopWhenDone() {
  if (!sends_.isEmpty() || !receives_.isEmpty()) return false;
  const std::lock_guard lock(mutex_);
  if (!posted_.empty()) return false;
  connections_.mesh().sendMessageWait(std::nullopt);
  busy_.store(false, std::memory_order_release);
  return true;
}

void PointToPoint::wait() {
  std::vector<pollfd> interests{{notifier_.fd(), POLLIN, 0}};
  const Milliseconds timeout = sends_.addInterests(interests, kLivenessInterval);
  receives_.addInterests(interests);
  connections_.mesh().addInterests(interests, receives_.mayBeDialled());
  pollSockets(interests.data(), interests.size(), waits_.leftWithin(timeout));
}

void PointToPoint::checkWhileWaiting() {
  connections_.mesh().receive();
  receives_.acceptConnections();
  waits_.throwIfEnded();
  waits_.reportOldest();
}

bool PointToPoint::hasUnseenPosts() {
  const std::lock_guard lock(mutex_);
  return isAccepting_ || !posted_.empty();
}

void PointToPoint::end(const OperationFailure& failure) {
  ended_ = failure;
  isAccepting_ = false;
  sends_.close(failure);
  receives_.close(failure);
  do {
    acceptPosted();
  } while (!stopWhenDone());
}

}  // namespace ringrun
