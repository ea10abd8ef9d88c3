#include "nccl/watch.h"

#include <utility>
#include <vector>

#include "base/wait.h"

namespace ringrun {
namespace {

// A peer that is gone may have done its part before: what it sent is on its way.
constexpr Milliseconds kGraceAfterDeath{300};

// NCCL notices the death of a peer by its own sockets, often before the connections here do.
constexpr Milliseconds kCauseTimeout{1000};

constexpr Milliseconds kIntervalInTrouble{10};

}  // namespace

// Whatever is thrown is thrown from here: in a catch block a runner may not sleep.
void Watch::until(const Call& call, const IsOver& isOver, Milliseconds interval) const {
  const auto since = Clock::now();
  std::optional<Failure> trouble;
  std::optional<Failure> death;
  std::optional<Clock::time_point> giveUpAt;
  for (;;) {
    notifier_->clear();
    bool over = false;
    if (!trouble) trouble = failureOf([&] { over = isOver(); });
    if (over) return;
    throwIfEnded(call, since);
    if (!death) death = deathOfPeer(call);
    if (death && trouble) throw Failure(*death);
    if ((death || trouble) && !giveUpAt) giveUpAt = Clock::now() + (death ? kGraceAfterDeath : kCauseTimeout);
    if (giveUpAt && Clock::now() >= *giveUpAt) throw Failure(death ? *death : *trouble);
    sleep(call, giveUpAt ? kIntervalInTrouble : interval);
  }
}

void Watch::throwIfEnded(const Call& call, Clock::time_point since) const {
  ControlMesh& mesh = connections_.mesh();
  mesh.receive();
  mesh.throwIfFailedBy(call.fingerprint.sequence);
  if (call.cancelled.load(std::memory_order_relaxed)) {
    throw Failure(FailureCode::Closed, {}, "the group was destroyed while this operation was running");
  }
  if (call.deadline.passed()) throw timeoutOf(call);
  // Those who are told can say at their own timeout that this rank was here.
  const auto waited = Clock::now() - since;
  if (waited >= kLivenessInterval) mesh.sendStatus(call.fingerprint);
  mesh.reportWait(call, waited, [&] { return timeoutOf(call).ranks; });
}

// Ranks that take their leave together may have left while others still do.
std::optional<Failure> Watch::deathOfPeer(const Call& call) const {
  const ControlMesh& mesh = connections_.mesh();
  const bool isFarewell = call.fingerprint.op == Op::Destroy;
  for (int peer = 0; peer < connections_.size(); ++peer) {
    if (peer == connections_.rank() || !mesh.hasEnded(peer) || (isFarewell && mesh.hasLeft(peer))) continue;
    return mesh.endFailure(peer);
  }
  return std::nullopt;
}

// All ranks had begun the operation. Missing are those who did not say that they wait in it too; where all have, nobody is
// known to be at fault.
Failure Watch::timeoutOf(const Call& call) const {
  const ControlMesh& mesh = connections_.mesh();
  std::vector<InvolvedRank> others;
  std::vector<InvolvedRank> silent;
  for (int peer = 0; peer < connections_.size(); ++peer) {
    if (peer == connections_.rank()) continue;
    const auto status = mesh.lastStatusOf(peer);
    others.push_back({peer, status});
    if (!status || status->sequence != call.fingerprint.sequence) silent.push_back({peer, status});
  }
  return Failure(FailureCode::Timeout, silent.empty() ? std::move(others) : std::move(silent),
                 "all ranks started it, but NCCL did not complete it on this GPU");
}

void Watch::sleep(const Call& call, Milliseconds interval) const {
  std::vector<pollfd> interests{{notifier_->fd(), POLLIN, 0}};
  connections_.mesh().addInterests(interests);
  pollSockets(interests.data(), interests.size(), call.deadline.leftWithin(interval));
}

}  // namespace ringrun
