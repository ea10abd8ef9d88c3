#include "collectives/tcp/broadcast.h"

#include <algorithm>
#include <vector>

#include "collectives/split.h"
#include "collectives/tcp/tree.h"

namespace ringrun {
namespace {

// What travels as one message; a rank passes one on while the next arrives.
constexpr std::size_t kSegmentBytes = 512 * 1024;

// Up the tree goes the message that all ranks below called the same operation; the root sends when it has heard from all.
void reportUp(Communicator& team, const TreePlace& tree) {
  std::vector<Communicator::Receive> reports;
  for (const int child : tree.children) reports.push_back({child, nullptr, 0});
  team.transfer({}, reports);
  if (tree.parent >= 0) team.transfer({{tree.parent, nullptr, 0}}, {});
}

// In step s a rank receives segment s and passes on segment s − 1; the root has all of them from the beginning. A rank
// hears from its parent for the first time when the first segment comes, so it looks at the header before it takes the
// rest.
void sendDown(Communicator& team, const TreePlace& tree, const Span& values) {
  // One at least, which tells even those who wait for nothing that all agree.
  const std::size_t segments = std::max<std::size_t>(segmentsIn(values.bytes, kSegmentBytes), 1);
  const bool isRoot = tree.parent < 0;
  const std::size_t lag = isRoot ? 0 : 1;
  for (std::size_t s = 0; s < segments + lag; ++s) {
    std::vector<Communicator::Send> sends;
    std::vector<Communicator::Receive> receives;
    if (!isRoot && s < segments) {
      const Range in = segmentOf({0, values.bytes}, kSegmentBytes, s);
      receives.push_back({tree.parent, values.data + in.begin, in.length(), s == 0});
    }
    if (s >= lag) {
      const Range out = segmentOf({0, values.bytes}, kSegmentBytes, s - lag);
      for (const int child : tree.children) sends.push_back({child, values.data + out.begin, out.length()});
    }
    team.transfer(sends, receives);
  }
}

void broadcastDown(Communicator& team, const TreePlace& tree, const Span& values) {
  reportUp(team, tree);
  sendDown(team, tree, values);
}

}  // namespace

// 2⌈log₂ size⌉ steps; the root sends ⌈log₂ size⌉ × bytes.
//
//   4 ranks, root 0      1 ← 0 → 2 → 3
void binomialTreeBroadcast(Communicator& team, int root, const Span& values) {
  broadcastDown(team, placeInBinomialTree(team.place(), team.size(), root), values);
}

// 2(size − 1) steps, and as many more as there are segments; every rank sends bytes once.
//
//   4 ranks, root 0      0 → 1 → 2 → 3
void chainBroadcast(Communicator& team, int root, const Span& values) {
  broadcastDown(team, placeInChain(team.place(), team.size(), root), values);
}

void broadcast(Communicator& team, Algorithm algorithm, int root, const Span& values) {
  const auto run = algorithm == Algorithm::Chain ? chainBroadcast : binomialTreeBroadcast;
  run(team, root, values);
}

}  // namespace ringrun
