#include <algorithm>
#include <vector>

#include "collectives/tcp/tcp_collectives.h"

namespace ringrun {
namespace {

// What travels as one message; a rank passes one on while the next arrives.
constexpr std::size_t kSegmentBytes = 512 * 1024;

// Up to this size few hops matter most (binomial tree); above it that nobody sends the data more than once (chain).
constexpr std::size_t kTreeBytes = 64 * 1024;

struct TreePlace {
  int parent = -1;  // -1: this is the root
  std::vector<int> children;
};

// Ranks are counted from the root. In a binomial tree a rank's parent is itself without its lowest set bit.
TreePlace placeInBinomialTree(int rank, int size, int root) {
  const int fromRoot = (rank - root + size) % size;
  TreePlace place;
  for (int bit = 1; bit < size; bit *= 2) {
    if ((fromRoot & bit) != 0) {
      place.parent = (fromRoot - bit + root) % size;
      break;
    }
    if (fromRoot + bit < size) place.children.push_back((fromRoot + bit + root) % size);
  }
  return place;
}

TreePlace placeInChain(int rank, int size, int root) {
  const int fromRoot = (rank - root + size) % size;
  TreePlace place;
  if (fromRoot > 0) place.parent = (rank - 1 + size) % size;
  if (fromRoot + 1 < size) place.children.push_back((rank + 1) % size);
  return place;
}

}  // namespace

// Up the tree goes the word that everybody below called the same; the root sends when it has heard from all, so that
// nobody's memory changes before. Tree: 2⌈log₂ size⌉ steps, the root sends ⌈log₂ size⌉ × bytes. Chain: every rank
// sends bytes once, 2(size − 1) steps and as many more as there are segments.
void TcpCollectives::broadcast(const Call& call, void* data) {
  if (size_ == 1) return;
  const std::size_t bytes = call.fingerprint.bytes();
  const int root = static_cast<int>(call.fingerprint.root);
  const TreePlace place =
      bytes <= kTreeBytes ? placeInBinomialTree(rank_, size_, root) : placeInChain(rank_, size_, root);
  auto* const values = static_cast<std::uint8_t*>(data);

  std::vector<Incoming> reports;
  for (const int child : place.children) reports.push_back({child, 0, nullptr, 0});
  messenger_.transfer(call, {}, reports);
  if (place.parent >= 0) messenger_.transfer(call, {{place.parent, 0, nullptr, 0}}, {});

  // In step s a rank receives segment s and passes on segment s − 1; the root has all of them from the beginning.
  const std::size_t segments = (bytes + kSegmentBytes - 1) / kSegmentBytes;
  const std::size_t lag = place.parent >= 0 ? 1 : 0;
  const auto segmentAt = [&](std::size_t s) {
    return Range{s * kSegmentBytes, std::min(bytes, (s + 1) * kSegmentBytes)};
  };
  for (std::size_t s = 0; s < segments + lag; ++s) {
    std::vector<Outgoing> sends;
    std::vector<Incoming> receives;
    if (lag == 1 && s < segments) {
      const Range segment = segmentAt(s);
      receives.push_back({place.parent, static_cast<std::uint32_t>(s + 1), values + segment.begin, segment.length()});
    }
    if (s >= lag) {
      const Range segment = segmentAt(s - lag);
      for (const int child : place.children) {
        sends.push_back({child, static_cast<std::uint32_t>(s - lag + 1), values + segment.begin, segment.length()});
      }
    }
    messenger_.transfer(call, sends, receives);
  }
}

}  // namespace ringrun
