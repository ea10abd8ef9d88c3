#include "collectives/routes.h"

#include <algorithm>
#include <numeric>

namespace ringrun {
namespace {

// Partial results of 16-bit numbers would be rounded at each rank: docs/algorithms.md, "Order of reduction".
bool keepsItsAlgorithm(Op op, DType dtype) {
  const bool isReduction = op == Op::AllReduce || op == Op::Reduce;
  return isReduction && (dtype == DType::Float16 || dtype == DType::BFloat16);
}

}  // namespace

std::optional<Algorithm> Routes::algorithmFor(Op op, DType dtype, std::uint64_t bytes) const {
  if (keepsItsAlgorithm(op, dtype)) return std::nullopt;
  const auto applies = [&](const SizeRule& rule) { return rule.op == op && bytes <= rule.upToBytes; };
  const auto rule = std::find_if(rules.begin(), rules.end(), applies);
  if (rule == rules.end()) return std::nullopt;
  return rule->algorithm;
}

std::vector<int> hostsInOrder(const Topology& topology, const Routes& routes) {
  if (!routes.hostOrder.empty()) return routes.hostOrder;
  std::vector<int> hosts(static_cast<std::size_t>(topology.hosts()));
  std::iota(hosts.begin(), hosts.end(), 0);
  return hosts;
}

Team ranksInOrder(const Topology& topology, const Routes& routes) {
  if (routes.hostOrder.empty()) return topology.allRanks();
  Team team;
  for (const int host : routes.hostOrder) {
    const Team& ranks = topology.ranksOn(host);
    team.insert(team.end(), ranks.begin(), ranks.end());
  }
  return team;
}

int placeIn(const Team& team, int rank) {
  return static_cast<int>(std::find(team.begin(), team.end(), rank) - team.begin());
}

}  // namespace ringrun
