#include "collectives/tcp/broadcast.h"

#include <algorithm>
#include <vector>

#include "collectives/split.h"
#include "collectives/tcp/tree.h"

namespace ringrun {
namespace {

// Bytes of a message; a rank forwards one while the next arrives.
constexpr std::size_t kBroadcastSegmentBytes = 512 * 1024;

// Each rank confirms to its parent that all ranks below called the same operation. The root sends after all
// confirmations.
void reportUp(TeamOperation& team, const TreePlace& tree) {
  std::vector<TeamOperation::Receive> reports;
  for (const int child : tree.children) reports.push_back({child, nullptr, 0});
  team.transfer({}, reports);
  if (tree.parent >= 0) team.transfer({{tree.parent, nullptr, 0}}, {});
}

// In step s a rank receives segment s and forwards segment s − 1; the root has all of them. The first segment
// is a rank's first message from its parent, so it checks the header before it receives the rest.
void sendDown(TeamOperation& team, const TreePlace& tree, const Span& values) {
  // At least one, so that even ranks without data confirm that all agree.
  const std::size_t segments = std::max<std::size_t>(segmentsIn(values.bytes, kBroadcastSegmentBytes), 1);
  const bool isRoot = tree.parent < 0;
  const std::size_t lag = isRoot ? 0 : 1;
  for (std::size_t s = 0; s < segments + lag; ++s) {
    std::vector<TeamOperation::Send> sends;
    std::vector<TeamOperation::Receive> receives;
    if (!isRoot && s < segments) {
      const Range in = segmentOf({0, values.bytes}, kBroadcastSegmentBytes, s);
      receives.push_back({tree.parent, values.data + in.begin, in.length(), s == 0});
    }
    if (s >= lag) {
      const Range out = segmentOf({0, values.bytes}, kBroadcastSegmentBytes, s - lag);
      for (const int child : tree.children) sends.push_back({child, values.data + out.begin, out.length(), true});
    }
    team.transfer(sends, receives);
  }
}

void broadcastDown(TeamOperation& team, const TreePlace& tree, const Span& values) {
  reportUp(team, tree);
  sendDown(team, tree, values);
}

}  // namespace

// 2⌈log₂ size⌉ steps; the root sends ⌈log₂ size⌉ × bytes.
//
//   4 ranks, root 0      1 ← 0 → 2 → 3
void binomialTreeBroadcast(TeamOperation& team, int root, const Span& values) {
  broadcastDown(team, placeInBinomialTree(team.place(), team.size(), root), values);
}

// 2(size − 1) steps plus one for each segment; every rank sends bytes once.
//
//   4 ranks, root 0      0 → 1 → 2 → 3
void chainBroadcast(TeamOperation& team, int root, const Span& values) {
  broadcastDown(team, placeInChain(team.place(), team.size(), root), values);
}

void broadcast(TeamOperation& team, Algorithm algorithm, int root, const Span& values) {
  const auto run = algorithm == Algorithm::Chain ? chainBroadcast : binomialTreeBroadcast;
  run(team, root, values);
}

}  // namespace ringrun
