#pragma once

#include <vector>

namespace ringrun {

// The position of a rank in a tree over a team.
struct TreePlace {
  int parent = -1;  // -1: this is the root
  std::vector<int> children;
};

// Few hops: ⌈log₂ size⌉. Places are counted from the root; the parent of a place is the place without its
// lowest set bit, and the descendants of a rank follow it. Children are in ascending order.
TreePlace placeInBinomialTree(int place, int size, int root);

// No rank has more than one child.
TreePlace placeInChain(int place, int size, int root);

}  // namespace ringrun
