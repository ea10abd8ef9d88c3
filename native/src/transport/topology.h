#pragma once

#include <vector>

namespace ringrun {

// Ranks in an order that all of them know. A rank's *place* is its index in it.
using Team = std::vector<int>;

// Which ranks share memory: those on one *host*. Hosts are numbered in the order of their first rank. Equal on every
// rank of the group.
class Topology {
 public:
  // `hosts[rank]` is equal exactly on ranks that share memory.
  explicit Topology(const std::vector<int>& hosts);

  int size() const { return static_cast<int>(hostOf_.size()); }
  int hosts() const { return static_cast<int>(ranksOn_.size()); }
  int hostOf(int rank) const { return hostOf_[static_cast<std::size_t>(rank)]; }
  bool shareMemory(int a, int b) const { return hostOf(a) == hostOf(b); }

  Team everybody() const;

  // In ascending order.
  const Team& ranksOn(int host) const { return ranksOn_[static_cast<std::size_t>(host)]; }

  // Of `rank` among the ranks of its host.
  int placeOnHost(int rank) const { return placeOnHost_[static_cast<std::size_t>(rank)]; }

  // Ranks on the host that has the fewest.
  int fewestOnOneHost() const;

  bool isOneHost() const { return hosts() == 1; }
  bool isOneRankPerHost() const { return hosts() == size(); }

 private:
  std::vector<int> hostOf_;
  std::vector<int> placeOnHost_;
  std::vector<Team> ranksOn_;
};

}  // namespace ringrun
