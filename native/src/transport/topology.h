#pragma once

#include <vector>

namespace ringrun {

// Ranks in an order that all of them agree on. A rank's *place* is its index in the team.
using Team = std::vector<int>;

// Assigns ranks that share memory to the same *host*. Hosts are numbered in the order of their first rank. Equal on
// all ranks of the group.
class Topology {
 public:
  // `hosts[rank]` is equal for ranks that share memory, and only for those.
  explicit Topology(const std::vector<int>& hosts);

  int size() const { return static_cast<int>(hostOf_.size()); }
  int hosts() const { return static_cast<int>(ranksOn_.size()); }
  int hostOf(int rank) const { return hostOf_[static_cast<std::size_t>(rank)]; }
  bool shareMemory(int a, int b) const { return hostOf(a) == hostOf(b); }

  Team allRanks() const;

  // In ascending order.
  const Team& ranksOn(int host) const { return ranksOn_[static_cast<std::size_t>(host)]; }

  // Index of `rank` among the ranks of its host.
  int localRank(int rank) const { return localRanks_[static_cast<std::size_t>(rank)]; }

  // The smallest number of ranks on any host.
  int minRanksOnHost() const;

  bool isOneHost() const { return hosts() == 1; }
  bool isOneRankPerHost() const { return hosts() == size(); }

 private:
  std::vector<int> hostOf_;
  std::vector<int> localRanks_;
  std::vector<Team> ranksOn_;
};

}  // namespace ringrun
