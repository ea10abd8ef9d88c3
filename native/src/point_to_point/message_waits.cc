#include "point_to_point/message_waits.h"

#include <limits>
#include <optional>
#include <string>

#include "base/wait.h"
#include "transport/connect/dial.h"

namespace ringrun {
namespace {

// Time in which the control connection of a peer reports why the peer closed a point-to-point connection. After that, the
// connection was cut on its way: its messages are lost.
constexpr Milliseconds kCutGrace{1000};

}  // namespace

MessageWaits::MessageWaits(Connections& connections, const Sends& sends, const Receives& receives,
                           const std::atomic<bool>& cancelled, WaitReports& reports)
    : connections_(connections),
      sends_(sends),
      receives_(receives),
      cancelled_(cancelled),
      reports_(reports),
      rank_(connections.rank()) {}

template <typename Visit>
void MessageWaits::forEach(Visit visit) const {
  sends_.forEach(visit);
  receives_.forEach(visit);
}

Call MessageWaits::callOf(const Posted& posted) const {
  return {posted.message.fingerprint, posted.deadline, cancelled_, reports_};
}

Milliseconds MessageWaits::leftWithin(Milliseconds timeout) const {
  forEach([&](const Posted& posted) { timeout = posted.deadline.leftWithin(timeout); });
  return timeout;
}

void MessageWaits::throwIfEnded() const {
  forEach([this](const Posted& posted) { throwIfEnded(posted); });
}

void MessageWaits::throwIfEnded(const Posted& posted) const {
  const ControlMesh& mesh = connections_.mesh();
  try {
    mesh.throwIfFailedBy(std::numeric_limits<std::uint64_t>::max());
    for (const int one : peersAwaitedBy(posted)) {
      const bool mayHaveLeft = posted.message.peer() == kAnyRank && mesh.hasLeft(one);
      if (!mayHaveLeft && canReceiveNothingFrom(one)) throw mesh.endFailure(one);
      throwIfViolated(one);
    }
    if (posted.deadline.passed()) throw timeoutOf(posted);
    throwIfTimedOutOrCancelled(callOf(posted), rank_, "");
  } catch (const Failure& failure) {
    throw MessageFailure(failure, posted.message);
  }
}

std::vector<int> MessageWaits::peersAwaitedBy(const Posted& posted) const {
  if (posted.message.peer() != kAnyRank) return {static_cast<int>(posted.message.peer())};
  std::vector<int> others;
  for (int rank = 0; rank < connections_.size(); ++rank) {
    if (rank != rank_) others.push_back(rank);
  }
  return others;
}

Failure MessageWaits::timeoutOf(const Posted& posted) const {
  std::vector<InvolvedRank> silent;
  const ControlMesh& mesh = connections_.mesh();
  for (const int peer : peersAwaitedBy(posted)) silent.push_back({peer, mesh.lastSeenIn(peer)});
  if (posted.message.fingerprint.op != Op::Send) {
    return {FailureCode::Timeout, mesh.missingBehind(silent), "no message with this tag was sent"};
  }
  const std::string problem = sends_.connectionProblem(static_cast<int>(posted.message.peer()));
  return {FailureCode::Timeout, mesh.missingBehind(silent), "it was not received" + (problem.empty() ? "" : "; " + problem)};
}

// True if the peer has ended and all of its data has been read.
bool MessageWaits::canReceiveNothingFrom(int peer) const {
  const ControlMesh& mesh = connections_.mesh();
  if (!mesh.hasEnded(peer)) return false;
  if (mesh.isSilent(peer)) return true;
  const Channel* const channel = receives_.channelFrom(peer);
  return channel == nullptr || channel->hasEnded();
}

void MessageWaits::throwIfViolated(int peer) const {
  throwIfViolated(peer, sends_.channelTo(peer));
  throwIfViolated(peer, receives_.channelFrom(peer));
}

void MessageWaits::throwIfViolated(int peer, const Channel* channel) const {
  if (channel == nullptr) return;
  if (channel->isAltered()) {
    throw Failure(FailureCode::Altered, {{peer, {}}}, describeAltered("point-to-point", connections_.directory(), peer));
  }
  const bool isCut = channel->hasEnded() && !connections_.mesh().hasEnded(peer) &&
                     Clock::now() - channel->endedAt() >= kCutGrace;
  if (!channel->isViolated() && !isCut) return;
  throw Failure(FailureCode::PeerDied, {{peer, connections_.mesh().lastSeenIn(peer)}}, channel->endReason());
}

const Posted* MessageWaits::oldestAwaited(int& pending) const {
  const Posted* found = nullptr;
  forEach([&](const Posted& posted) {
    if (!posted.isAwaited) return;
    ++pending;
    if (found == nullptr || posted.deadline.since() < found->deadline.since()) found = &posted;
  });
  return found;
}

void MessageWaits::reportOldest() {
  int pending = 0;
  const Posted* const first = oldestAwaited(pending);
  if (first == nullptr) return;
  ControlMesh& mesh = connections_.mesh();
  const auto waited = Clock::now() - first->deadline.since();
  mesh.sendMessageWait(waited >= kLivenessInterval ? std::optional(first->message.fingerprint) : std::nullopt);
  if (!reports_.isDue(first->deadline, waited)) return;
  std::vector<WaitReports::Missing> awaited;
  for (const int peer : peersAwaitedBy(*first)) awaited.push_back({peer, mesh.describePeer(peer, 0, {})});
  const std::string more = pending == 1 ? "" : "; " + std::to_string(pending - 1) + " more messages are waiting";
  reports_.write(rank_, callOf(*first), awaited, more);
}

}  // namespace ringrun
