#include <algorithm>
#include <cstring>
#include <vector>

#include "collectives/tcp/all_gather.h"

namespace ringrun {
namespace {

// The blocks in one buffer, starting with this rank's own, then those of the ranks above it.
class Turned {
 public:
  Turned(const TeamOperation& team, const Spans& blocks) : begins_{0} {
    for (int i = 0; i < team.size(); ++i) {
      inOrder_.push_back(blocks[static_cast<std::size_t>(team.above(i))]);
      begins_.push_back(begins_.back() + inOrder_.back().bytes);
    }
  }

  std::size_t bytes() const { return begins_.back(); }
  std::size_t begin(int block) const { return begins_[static_cast<std::size_t>(block)]; }
  std::size_t bytesOf(int first, int count) const { return begin(first + count) - begin(first); }
  const Span& at(int block) const { return inOrder_[static_cast<std::size_t>(block)]; }

 private:
  Spans inOrder_;
  std::vector<std::size_t> begins_;
};

void copy(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

}  // namespace

// ⌈log₂ size⌉ steps: each rank has `distance` blocks, its own and those above, and sends them to the rank
// far below, which doubles their number. Each rank receives Σ bytes − its own. A rank that has all blocks has
// heard from all ranks.
//
//   4 ranks    has 0   1   2   3
//   before         a   b   c   d
//   step 0         ab  bc  cd  da
//   step 1         abcd bcda …
void bruckAllGather(TeamOperation& team, const Spans& blocks) {
  const Turned turned(team, blocks);
  std::uint8_t* const memory = team.receiveBuffer(turned.bytes());
  copy(memory, turned.at(0).data, turned.at(0).bytes);
  for (int distance = 1; distance < team.size(); distance *= 2) {
    const int sent = std::min(distance, team.size() - distance);
    team.transfer({{team.below(distance), memory, turned.bytesOf(0, sent)}},
                  {{team.above(distance), memory + turned.begin(distance), turned.bytesOf(distance, sent)}});
  }
  for (int i = 1; i < team.size(); ++i) copy(turned.at(i).data, memory + turned.begin(i), turned.at(i).bytes);
}

}  // namespace ringrun
