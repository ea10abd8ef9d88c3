#pragma once

#include <cstddef>
#include <cstdint>

#include "base/mapping.h"
#include "base/operation.h"
#include "base/processor.h"
#include "transport/control/mesh.h"
#include "transport/shm/layout.h"

namespace ringrun {

// The control memory that the ranks of a group on one host share, and the waits in it. layout.h defines which rank
// writes which part. Ranks are identified by their index on the host.
//
// Used by one thread of each process at a time: the thread that runs the group's current operation.
//
// A waiting rank spins for some microseconds if every rank of the host has its own processor, and otherwise
// yields. Then it sleeps in the kernel until the awaited step arrives, and checks the control connections, the
// deadline and the cancellation every kLivenessInterval.
class Arena {
 public:
  // A collective of `team`, the ranks of the host; this rank is at `place`. Throws Failure.
  Arena(ControlMesh& mesh, Team team, int place, const Call& call);

  // Writes this rank's operation and the location of its array. Published by the next step.
  void post(const Call& call, const Placement& placement);

  // Publishes this rank's writes, waits until every rank has arrived, and compares fingerprints. Throws
  // Mismatch with both sides as soon as one differs; nothing outside of the area has been written in this case.
  void arrive(const Call& call);

  // Publishes this rank's writes, and waits until every rank has done the same.
  void step(const Call& call);

  // The ranks of this host.
  const Team& team() const { return team_; }

  // The post of the current operation; valid from arrive() until the next one.
  const Post& postOf(int place) const { return turnOf(place).post; }
  // `bytes`: the length, equal on all ranks.
  std::uint8_t* payloadOf(int place, std::size_t bytes) const {
    Turn& turn = turnOf(place);
    return bytes <= kPostedBytes ? turn.post.payload : turn.payload;
  }

  // The current half of the staging area; nextStaging() switches to the other half.
  std::uint8_t* stagingOf(int place) const { return areas_[place].staging[stagingTurn_ & 1]; }
  void nextStaging() { ++stagingTurn_; }

  // Wakes all sleeping ranks, so that they check their control connections at once.
  void wakeRanks() const;

 private:
  Turn& turnOf(int place) const { return areas_[place].turns[turn_ & 1]; }
  int rankAt(int place) const { return team_[static_cast<std::size_t>(place)]; }
  void publish();
  bool hasReached(int peer) const;
  bool haveAllReached() const;
  bool isMissingPeerOnThisProcessor() const;
  std::uint32_t processorOf(int place) const { return turnOf(place).post.processor.load(std::memory_order_relaxed); }
  void awaitAll(const Call& call, bool checksAgreement);
  void sleepUntilAllReached(const Call& call);
  void checkWhileWaiting(const Call& call, Clock::time_point began);
  void checkAgreementWith(int peer, const Call& call) const;
  void checkAgreementWithArrived(const Call& call) const;
  std::vector<InvolvedRank> missing() const;

  ControlMesh& mesh_;
  Team team_;
  int place_;
  int size_;
  bool isOversubscribed_;  // more ranks than processors
  Mapping memory_;
  ArenaHeader* header_ = nullptr;
  RankArea* areas_ = nullptr;
  ProcessorMover mover_;
  std::uint32_t step_ = 0;         // this rank's published step
  std::uint32_t turn_ = 0;         // for posts and payloads; one for each operation
  std::uint32_t stagingTurn_ = 0;  // for staging halves; one for each piece
};

}  // namespace ringrun
