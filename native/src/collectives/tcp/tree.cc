#include "collectives/tcp/tree.h"

namespace ringrun {

TreePlace placeInBinomialTree(int place, int size, int root) {
  const int fromRoot = (place - root + size) % size;
  TreePlace tree;
  for (int bit = 1; bit < size; bit *= 2) {
    if ((fromRoot & bit) != 0) {
      tree.parent = (fromRoot - bit + root) % size;
      break;
    }
    if (fromRoot + bit < size) tree.children.push_back((fromRoot + bit + root) % size);
  }
  return tree;
}

TreePlace placeInChain(int place, int size, int root) {
  const int fromRoot = (place - root + size) % size;
  TreePlace chain;
  if (fromRoot > 0) chain.parent = (place - 1 + size) % size;
  if (fromRoot + 1 < size) chain.children.push_back((place + 1) % size);
  return chain;
}

}  // namespace ringrun
