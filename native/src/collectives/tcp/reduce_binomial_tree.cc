#include <vector>

#include "collectives/tcp/reduce.h"
#include "collectives/tcp/tree.h"

namespace ringrun {

// ⌈log₂ size⌉ steps; every rank but the root sends bytes once: the combination of its own terms and those of
// the ranks below.
//
//   4 ranks, root 0      3 → 2 → 0 ← 1
//
// The descendants of a rank follow it in the team, so elements are reduced in the order of the team, starting
// at the root. Each rank combines all results of its children at once.
void binomialTreeReduce(TeamOperation& team, int root, const Combination& combination, void* data, std::size_t count) {
  const TreePlace place = placeInBinomialTree(team.place(), team.size(), root);
  const std::size_t bytes = count * combination.elementBytes();
  std::uint8_t* const receiveBuffer = team.receiveBuffer(bytes * (place.children.size() + 1));
  std::vector<const void*> terms{data};
  std::vector<TeamOperation::Receive> receives;
  for (std::size_t i = 0; i < place.children.size(); ++i) {
    terms.push_back(receiveBuffer + i * bytes);
    receives.push_back({place.children[i], receiveBuffer + i * bytes, bytes});
  }
  team.transfer({}, receives);
  if (place.parent < 0) return combination.complete(terms, data, count);

  const bool isLeaf = place.children.empty();
  std::uint8_t* const partial = receiveBuffer + place.children.size() * bytes;
  if (!isLeaf) combination.combine(terms, partial, count);
  team.transfer({{place.parent, isLeaf ? data : partial, bytes}}, {});
}

}  // namespace ringrun
