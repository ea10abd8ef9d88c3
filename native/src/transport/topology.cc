#include "transport/topology.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace ringrun {

Topology::Topology(const std::vector<int>& hosts) {
  std::map<int, int> numbers;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const int host = numbers.emplace(hosts[rank], static_cast<int>(numbers.size())).first->second;
    if (host == this->hosts()) ranksOn_.emplace_back();
    Team& localRanks = ranksOn_[static_cast<std::size_t>(host)];
    hostOf_.push_back(host);
    localRanks_.push_back(static_cast<int>(localRanks.size()));
    localRanks.push_back(static_cast<int>(rank));
  }
}

Team Topology::allRanks() const {
  Team team(hostOf_.size());
  std::iota(team.begin(), team.end(), 0);
  return team;
}

int Topology::minRanksOnHost() const {
  const auto shorter = [](const Team& a, const Team& b) { return a.size() < b.size(); };
  return static_cast<int>(std::min_element(ranksOn_.begin(), ranksOn_.end(), shorter)->size());
}

}  // namespace ringrun
