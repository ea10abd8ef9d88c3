#include <vector>

#include "collectives/tcp/reduce.h"
#include "collectives/tcp/tree.h"

namespace ringrun {

// ⌈log₂ size⌉ steps; every rank but the root sends bytes once, the combination of the ranks below it and its own.
//
//   4 ranks, root 0      3 → 2 → 0 ← 1
//
// Below a rank are those that follow it, so an element is reduced in the order of the team, beginning at the root; each
// rank combines at once what its children have combined.
void binomialTreeReduce(Communicator& team, int root, const Combination& combination, void* data, std::size_t count) {
  const TreePlace place = placeInBinomialTree(team.place(), team.size(), root);
  const std::size_t bytes = count * combination.elementBytes();
  std::uint8_t* const landings = team.landings(bytes * (place.children.size() + 1));
  std::vector<const void*> terms{data};
  std::vector<Communicator::Receive> receives;
  for (std::size_t i = 0; i < place.children.size(); ++i) {
    terms.push_back(landings + i * bytes);
    receives.push_back({place.children[i], landings + i * bytes, bytes});
  }
  team.transfer({}, receives);
  if (place.parent < 0) return combination.complete(terms, data, count);

  const bool isLeaf = place.children.empty();
  std::uint8_t* const partial = landings + place.children.size() * bytes;
  if (!isLeaf) combination.combine(terms, partial, count);
  team.transfer({{place.parent, isLeaf ? data : partial, bytes}}, {});
}

}  // namespace ringrun
