#pragma once

#include <vector>

namespace ringrun {

// A rank in a tree over a team.
struct TreePlace {
  int parent = -1;  // -1: this is the root
  std::vector<int> children;
};

// Few hops: ⌈log₂ size⌉. Places are counted from the root; the parent's number is the own one without its lowest set
// bit, and a rank's descendants are those that follow it. Children in ascending order of that number.
TreePlace placeInBinomialTree(int place, int size, int root);

// No rank has more than one child.
TreePlace placeInChain(int place, int size, int root);

}  // namespace ringrun
