#include "nccl/watchdog.h"

#include <utility>
#include <vector>

#include "base/wait.h"

namespace ringrun {
namespace {

// A dead peer may have completed its part: data in transit still arrives within this time.
constexpr Milliseconds kGraceAfterDeath{300};

// NCCL often detects the death of a peer before the control connections do.
constexpr Milliseconds kCauseTimeout{1000};

constexpr Milliseconds kIntervalInTrouble{10};

}  // namespace

// Rethrows from here, because a fiber must not sleep in a catch block.
void Watchdog::waitUntil(const Call& call, const IsDone& isDone, Milliseconds interval) const {
  const auto since = Clock::now();
  std::optional<Failure> trouble;
  std::optional<Failure> death;
  std::optional<Clock::time_point> abortAt;
  for (;;) {
    notifier_->clear();
    bool over = false;
    if (!trouble) trouble = failureOf([&] { over = isDone(); });
    if (over) return;
    throwIfEnded(call, since);
    if (!death) death = failureOfPeer(call);
    if (death && trouble) throw Failure(*death);
    if ((death || trouble) && !abortAt) abortAt = Clock::now() + (death ? kGraceAfterDeath : kCauseTimeout);
    if (abortAt && Clock::now() >= *abortAt) throw Failure(death ? *death : *trouble);
    sleep(call, abortAt ? kIntervalInTrouble : interval);
  }
}

void Watchdog::throwIfEnded(const Call& call, Clock::time_point since) const {
  ControlMesh& mesh = connections_.mesh();
  mesh.receive();
  mesh.throwIfFailedBy(call.fingerprint.sequence);
  if (call.cancelled.load(std::memory_order_relaxed)) {
    throw Failure(FailureCode::Closed, {}, "the group was destroyed while this operation was running");
  }
  if (call.deadline.passed()) throw timeoutOf(call);
  // Other ranks can then report at their own timeout that this rank had reached the operation.
  const auto waited = Clock::now() - since;
  if (waited >= kLivenessInterval) mesh.sendStatus(call.fingerprint);
  mesh.reportWait(call, waited, [&] { return timeoutOf(call).ranks; });
}

// In destroy, some ranks leave before others.
std::optional<Failure> Watchdog::failureOfPeer(const Call& call) const {
  const ControlMesh& mesh = connections_.mesh();
  const bool isFarewell = call.fingerprint.op == Op::Destroy;
  for (int peer = 0; peer < connections_.size(); ++peer) {
    if (peer == connections_.rank() || !mesh.hasEnded(peer) || (isFarewell && mesh.hasLeft(peer))) continue;
    return mesh.endFailure(peer);
  }
  return std::nullopt;
}

// All ranks have begun the operation. Missing are those without a STATUS of it; if all have sent it, no rank is
// known to be at fault.
Failure Watchdog::timeoutOf(const Call& call) const {
  const ControlMesh& mesh = connections_.mesh();
  std::vector<InvolvedRank> others;
  std::vector<InvolvedRank> silent;
  for (int peer = 0; peer < connections_.size(); ++peer) {
    if (peer == connections_.rank()) continue;
    const auto status = mesh.lastStatusOf(peer);
    const InvolvedRank involved{peer, mesh.lastSeenIn(peer)};
    others.push_back(involved);
    if (!status || status->sequence != call.fingerprint.sequence) silent.push_back(involved);
  }
  return Failure(FailureCode::Timeout, silent.empty() ? std::move(others) : mesh.missingBehind(silent),
                 "all ranks started it, but NCCL did not complete it on this GPU");
}

void Watchdog::sleep(const Call& call, Milliseconds interval) const {
  std::vector<pollfd> interests{{notifier_->fd(), POLLIN, 0}};
  connections_.mesh().addInterests(interests);
  pollSockets(interests.data(), interests.size(), call.deadline.leftWithin(interval));
}

}  // namespace ringrun
