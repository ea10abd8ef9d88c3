// The part of ControlMesh that explains waits: for which ranks an operation waits, and what they are doing.
#include <algorithm>
#include <deque>

#include "base/wait_reports.h"
#include "transport/control/mesh.h"

namespace ringrun {

std::optional<Fingerprint> ControlMesh::lastStatusOf(int peer) const { return peers_[peer].status; }

std::optional<Fingerprint> ControlMesh::lastSeenIn(int peer) const {
  const auto& status = peers_[peer].status;
  const bool isLater = status && status->sequence != 0 && (!lastCollective_ || status->sequence > lastCollective_->sequence);
  return isLater ? status : lastCollective_;
}

// The ranks for which a peer waits; empty if it is not known to wait.
std::optional<std::vector<int>> ControlMesh::awaitedBy(int peer) const {
  const ControlPeer& one = peers_[peer];
  const bool isInCollective = one.isWaiting && one.status->sequence != 0;
  if (!one.messageWait && !isInCollective) return std::nullopt;
  if (one.messageWait && one.messageWait->root != kAnyRank) return std::vector<int>{static_cast<int>(one.messageWait->root)};
  std::vector<int> awaited;
  for (int rank = 0; rank < static_cast<int>(peers_.size()); ++rank) {
    if (rank == peer || rank == rank_) continue;
    if (one.messageWait || !peers_[rank].isWaitingInOrAfter(one.status->sequence)) awaited.push_back(rank);
  }
  return awaited;
}

std::vector<InvolvedRank> ControlMesh::missingBehind(const std::vector<InvolvedRank>& awaited) const {
  std::vector<bool> isKnown(peers_.size(), false);
  isKnown[static_cast<std::size_t>(rank_)] = true;  // it waits
  std::vector<InvolvedRank> missing;
  std::deque<InvolvedRank> next(awaited.begin(), awaited.end());
  for (; !next.empty(); next.pop_front()) {
    const InvolvedRank one = next.front();
    const auto index = static_cast<std::size_t>(one.rank);
    if (index >= peers_.size() || isKnown[index]) continue;
    isKnown[index] = true;
    const auto awaited = awaitedBy(one.rank);
    if (!awaited) missing.push_back(one);
    for (const int rank : awaited.value_or(std::vector<int>{})) next.push_back({rank, lastSeenIn(rank)});
  }
  if (missing.empty()) return awaited;
  std::sort(missing.begin(), missing.end(), [](const auto& a, const auto& b) { return a.rank < b.rank; });
  return missing;
}

void ControlMesh::reportWait(const Call& call, Clock::duration waited, const Awaited& awaited) {
  if (!call.reports.isDue(call.deadline, waited)) return;
  const std::uint64_t sequence = call.fingerprint.sequence;
  std::vector<InvolvedRank> missing;
  const std::vector<InvolvedRank> known = awaited();
  for (int peer = 0; peer < static_cast<int>(peers_.size()); ++peer) {
    if (peer == rank_) continue;
    if (!peers_[peer].isWaitingInOrAfter(sequence)) {
      const auto same = std::find_if(known.begin(), known.end(), [&](const InvolvedRank& one) { return one.rank == peer; });
      missing.push_back(same == known.end() ? InvolvedRank{peer, {}} : *same);
    } else if (peer < rank_) {
      return;
    }
  }
  // While connecting, connected ranks that wait for others send no STATUS at first.
  if (missing.empty() || call.fingerprint.op == Op::Connect) missing = known;
  std::vector<WaitReports::Missing> described;
  for (const auto& one : missing) described.push_back({one.rank, describePeer(one.rank, sequence, one.seenIn)});
  call.reports.write(rank_, call, described);
}

std::string ControlMesh::describePeer(int peer, std::uint64_t sequence, const std::optional<Fingerprint>& seenIn) const {
  const ControlPeer& one = peers_[peer];
  if (one.state == ControlPeer::State::NotConnected) return "which has not connected yet";
  if (one.messageWait) return "which is in " + describe(*one.messageWait);
  if (one.isWaiting) return "which is in " + nameAndNumberOf(*one.status);
  if (seenIn && sequence != 0 && seenIn->sequence == sequence) return "which has begun it";
  std::optional<Fingerprint> last = lastSeenIn(peer);
  if (seenIn && seenIn->sequence != 0 && (!last || seenIn->sequence > last->sequence)) last = seenIn;
  const std::string outside = "which is outside any collective";
  return last ? outside + ", its last was " + nameAndNumberOf(*last) : outside;
}

}  // namespace ringrun
