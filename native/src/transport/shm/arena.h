#pragma once

#include <cstdint>

#include "base/mapping.h"
#include "base/operation.h"
#include "base/processor.h"
#include "transport/control/mesh.h"
#include "transport/shm/layout.h"

namespace ringrun {

// The control memory that a group's ranks on one host share, and the waiting in it: see layout.h for who writes what.
// Ranks are told by their place on the host.
//
// Used by one thread of each process at a time: the one that runs the group's current operation.
//
// A waiting rank spins for some microseconds when every rank of the host has a processor of its own, and otherwise lets
// the others have the processor that they share; then it sleeps in the kernel until the step that it waits for changes,
// looking every kLivenessInterval at the control connections, the deadline and the cancellation.
class Arena {
 public:
  // A collective: every rank of `team`, the host's, calls it; this one is at `place`. Throws Failure.
  Arena(ControlMesh& mesh, Team team, int place, const Call& call);

  // Says which operation this rank is in and where its array lies. Part of the next step.
  void post(const Call& call, const Placement& placement);

  // Publishes what this rank wrote, waits until every rank has come to the same operation, and checks that it is the
  // same one. Throws Mismatch with both sides, as soon as one differs, before anything but the area has been written.
  void arrive(const Call& call);

  // Publishes what this rank wrote, and waits until every rank has done the same.
  void step(const Call& call);

  // The ranks of this host.
  const Team& team() const { return team_; }

  // As posted for the current operation; valid from arrive() until the next one.
  const Post& postOf(int place) const { return turnOf(place).post; }
  std::uint8_t* payloadOf(int place) const { return turnOf(place).payload; }

  // Half of the staging area that is in use; nextStaging() changes to the other.
  std::uint8_t* stagingOf(int place) const { return areas_[place].staging[stagingTurn_ & 1]; }
  void nextStaging() { ++stagingTurn_; }

  // Wakes everybody who sleeps, so that they look at the control connections now.
  void wakeEverybody() const;

 private:
  Turn& turnOf(int place) const { return areas_[place].turns[turn_ & 1]; }
  int rankAt(int place) const { return team_[static_cast<std::size_t>(place)]; }
  void publish();
  bool hasReached(int peer) const;
  bool haveAllReached() const;
  bool isAnyMissingHere() const;
  std::uint32_t processorOf(int place) const { return areas_[place].processor.load(std::memory_order_relaxed); }
  void awaitAll(const Call& call, bool checksAgreement);
  void sleepUntilAllReached(const Call& call);
  void checkWhileWaiting(const Call& call, Clock::time_point began);
  void checkAgreementWith(int peer, const Call& call) const;
  void checkAgreementWithThoseHere(const Call& call) const;
  std::vector<InvolvedRank> missing() const;

  ControlMesh& mesh_;
  Team team_;
  int place_;
  int size_;
  bool isOversubscribed_;  // ranks share processors
  Mapping memory_;
  ArenaHeader* header_ = nullptr;
  RankArea* areas_ = nullptr;
  ProcessorMover mover_;
  std::uint32_t step_ = 0;         // this rank's, as published
  std::uint32_t turn_ = 0;         // of posts and payloads; one per operation
  std::uint32_t stagingTurn_ = 0;  // of staging halves; one per piece
};

}  // namespace ringrun
