#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/operation.h"
#include "collectives/algorithms.h"
#include "transport/topology.h"

namespace ringrun {

// An algorithm for arrays of up to `upToBytes`, instead of that of chooseAlgorithm().
struct SizeRule {
  Op op;
  std::uint64_t upToBytes;
  Algorithm algorithm;
};

// The way of a group's data between its hosts, from measured or given links. Equal on all ranks.
struct Routes {
  // The order of hosts in rings and chains: each host once. Empty: that of their numbers.
  std::vector<int> hostOrder;
  // The first one of an operation with enough bytes applies.
  std::vector<SizeRule> rules;

  // `bytes` that the operation sends over one link: for a share of an array, those of the array.
  std::optional<Algorithm> algorithmFor(Op op, DType dtype, std::uint64_t bytes) const;
};

// The hosts in the order of `routes`.
std::vector<int> hostsInOrder(const Topology& topology, const Routes& routes);

// All ranks, host by host in the order of `routes`. Without an order: by rank.
Team ranksInOrder(const Topology& topology, const Routes& routes);

// Index of `rank` in the team.
int placeIn(const Team& team, int rank);

}  // namespace ringrun
