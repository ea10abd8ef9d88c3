#pragma once

#include <cstdint>
#include <optional>

#include "collectives/algorithms.h"
#include "collectives/collectives.h"
#include "collectives/tcp/team_operation.h"
#include "transport/connections.h"

namespace ringrun {

// Collectives over TCP: chooses an algorithm for each operation and runs it on all ranks. A *chunk* is the
// range of elements that belongs to one rank; a *segment* is the part of a chunk that is sent as one message.
class TcpCollectives : public Collectives {
 public:
  // `connections` must outlive this object. `forced`: used by every operation that supports it.
  TcpCollectives(Connections& connections, std::optional<Algorithm> forced);

  int size() const override { return static_cast<int>(allRanks_.size()); }
  void allReduce(const Call& call, void* data) override;
  void allReduceQuantized(const Call& call, const QuantizedReduction& reduction) override;
  void reduce(const Call& call, void* data) override;
  void reduceScatter(const Call& call, const Blocks& inputs, const Block& output) override;
  void broadcast(const Call& call, void* data) override;
  void exchange(const Call& call, const Exchange& exchange) override;
  void barrier(const Call& call) override;
  Allocation allocate(const Call& call) override;
  void follow(const Routes& routes) override;

 private:
  TeamOperation allRanksIn(const Call& call) { return {messenger_, call, allRanks_, scratch_}; }
  TeamOperation ringIn(const Call& call) { return {messenger_, call, ring_, scratch_}; }
  void gatherInRing(TeamOperation& team, const Call& call, const Spans& byRank);
  Algorithm choose(Op op, DType dtype, std::uint64_t bytes) const;

  Messenger& messenger_;
  Medium medium_;
  const Topology& topology_;
  Team allRanks_;
  // The same ranks in the order of a ring.
  Team ring_;
  Routes routes_;
  std::optional<Algorithm> forced_;
  Scratch scratch_;
};

}  // namespace ringrun
