#pragma once

#include <functional>
#include <optional>

#include "collectives/algorithms.h"
#include "collectives/collectives.h"
#include "collectives/shm/shm_collectives.h"
#include "collectives/tcp/all_reduce.h"
#include "collectives/tcp/scratch.h"
#include "collectives/tcp/tcp_collectives.h"
#include "transport/connections.h"

namespace ringrun {

// Collectives for ranks some of which share memory: inside each host, then between hosts, then inside each host
// again. Ranks with the same index on their hosts form a team that reduces one share of the data. The *leader*
// of a host is its first rank.
//
// A host sends as many bytes for a reduction as one rank would. An exchange has no hierarchy, because every
// byte has one sender and one receiver.
class HierarchicalCollectives : public Collectives {
 public:
  // A collective. `connections` must outlive this object. `forced`: operations that support it over TCP run as
  // if no ranks shared memory. Throws Failure.
  HierarchicalCollectives(Connections& connections, std::optional<Algorithm> forced, const Call& call);

  int size() const override { return topology_.size(); }
  void allReduce(const Call& call, void* data) override;
  void allReduceQuantized(const Call& call, const QuantizedReduction& reduction) override;
  void reduce(const Call& call, void* data) override;
  void reduceScatter(const Call& call, const Blocks& inputs, const Block& output) override;
  void broadcast(const Call& call, void* data) override;
  void exchange(const Call& call, const Exchange& exchange) override;
  void barrier(const Call& call) override;
  Allocation allocate(const Call& call) override;
  HostAllocation allocateForHost(const Call& call) override;
  void follow(const Routes& routes) override;
  void wakeLocalRanks() noexcept override;

 private:
  bool ignoresHosts(Op op) const;
  Shares sharesOf(DType dtype, std::size_t count) const;
  Team teamAt(int place) const;
  Team leadersFor(int root) const;
  Algorithm choose(Op op, DType dtype, std::uint64_t bytes, std::uint64_t bytesOfHost) const;
  // Reduces `partial`, this rank's share of an array, across hosts.
  using AcrossHosts = std::function<void(TeamOperation& team, void* partial, const Range& share, const OverlapCallbacks& inHost)>;
  void combine(const Call& call, void* data, std::size_t count);
  void combine(const Call& call, void* data, std::size_t count, const AcrossHosts& acrossHosts);

  const Topology& topology_;
  Messenger& messenger_;
  std::optional<Algorithm> forced_;
  int rank_;
  int place_;
  ShmCollectives host_;
  TcpCollectives allRanks_;
  Routes routes_;
  Scratch scratch_;
  Buffer partial_;   // result of this rank's share
  Buffer narrowed_;  // the same in 16 bits
  Buffer copy_;      // of an array that must not change
};

}  // namespace ringrun
