// The part of ControlMesh that explains failures: which ranks caused one, and what they were doing.
#include <algorithm>

#include "base/wait.h"
#include "transport/connect/dial.h"
#include "transport/control/mesh.h"
#include "transport/control/whole_operation.h"

namespace ringrun {
namespace {

// Maximum time to wait for the STATUS of other ranks, which they send within kLivenessInterval.
constexpr Milliseconds kSidesTimeout{300};

}  // namespace

Failure ControlMesh::endFailure(int peer) const {
  const ControlPeer& ended = peers_[peer];
  if (ended.failure) return *ended.failure;
  const std::string how = ended.state == ControlPeer::State::Left ? "it had left the group (destroy)" : ended.disconnectReason;
  return Failure(FailureCode::PeerDied, {{peer, ended.status}}, how);
}

void ControlMesh::throwIfFailedBy(std::uint64_t sequence) const {
  const Failure* first = nullptr;
  for (const auto& peer : peers_) {
    if (!peer.failure || peer.failedSequence > sequence) continue;
    // A mismatch explains the deaths that result from it.
    if (first == nullptr || peer.failure->code == FailureCode::Mismatch) first = &*peer.failure;
  }
  if (first != nullptr) throw Failure(*first);
}

void ControlMesh::throwIfDisagreed(const Fingerprint& part) const {
  // Messages between GPUs have no number, so the STATUS of a peer may refer to another one. Their headers are compared.
  if (part.sequence == 0) return;
  const Fingerprint mine = wholeOf(part);
  for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
    const auto& theirs = peers_[peer].status;
    if (theirs && theirs->sequence == mine.sequence && *theirs != mine) {
      throw Failure(FailureCode::Mismatch, {{rank_, mine}, {peer, *theirs}}, "the ranks called different operations");
    }
  }
}

Failure ControlMesh::withAllSides(const Failure& mismatch, const Fingerprint& mine) {
  const bool isAboutFingerprints = std::any_of(mismatch.ranks.begin(), mismatch.ranks.end(),
                                               [&](const InvolvedRank& one) { return one.seenIn && *one.seenIn != mine; });
  if (!isAboutFingerprints) return mismatch;
  sendStatus(mine);
  Failure complete = mismatch;
  complete.ranks.clear();
  const Deadline timeout = Deadline::after(static_cast<double>(kSidesTimeout.count()));
  for (;;) {
    receive();
    int unknown = 0;
    for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
      if (peer != rank_ && !hasEnded(peer) && !sideOf(peer, mine)) ++unknown;
    }
    if (unknown == 0 || timeout.passed()) break;
    std::vector<pollfd> interests;
    addInterests(interests);
    pollSockets(interests.data(), interests.size(), timeout.leftWithin(kSidesTimeout));
  }
  for (int rank = 0; rank < static_cast<int>(peers_.size()); ++rank) {
    std::optional<Fingerprint> side = rank == rank_ ? mine : sideOf(rank, mine);
    for (const auto& known : mismatch.ranks) {
      if (!side && known.rank == rank) side = known.seenIn;
    }
    if (side) complete.ranks.push_back({rank, side});
  }
  return complete;
}

std::optional<Fingerprint> ControlMesh::sideOf(int peer, const Fingerprint& mine) const {
  const auto& status = peers_[peer].status;
  return status && status->sequence == mine.sequence ? status : std::nullopt;
}

Failure ControlMesh::withAllGone(const Failure& failure) {
  if (failure.code != FailureCode::PeerDied) return failure;
  receive();
  Failure complete = failure;
  const auto add = [&](const InvolvedRank& gone) {
    const auto isSame = [&](const InvolvedRank& one) { return one.rank == gone.rank; };
    if (gone.rank == rank_ || std::any_of(complete.ranks.begin(), complete.ranks.end(), isSame)) return;
    complete.ranks.push_back(gone);
  };
  for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
    const ControlPeer& one = peers_[peer];
    const bool isGone = one.state == ControlPeer::State::Disconnected ||
                        (one.state == ControlPeer::State::NotConnected && peer != rank_ && directory_.isOnThisMachine(peer) &&
                         hasStoppedListening(directory_, peer));
    if (isGone) add({peer, one.status});
    if (!one.failure || one.failure->code != FailureCode::PeerDied) continue;
    for (const InvolvedRank& reported : one.failure->ranks) add(reported);
  }
  return complete;
}

}  // namespace ringrun
