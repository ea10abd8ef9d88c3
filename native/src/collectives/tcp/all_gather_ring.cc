#include <algorithm>

#include "collectives/split.h"
#include "collectives/tcp/all_gather.h"

namespace ringrun {
namespace {

Span segmentOfBlock(const Span& block, std::size_t segmentBytes, std::size_t s) {
  const Range range = segmentOf({0, block.bytes}, segmentBytes, s);
  return {block.data + range.begin, range.length()};
}

}  // namespace

// size − 1 steps: every rank sends to the right the block received from the left in the previous step, starting
// with its own block. Each rank sends Σ bytes − the block of its right neighbour.
//
//   4 ranks    sends 0  1  2  3
//   step 0           a  b  c  d
//   step 1           d  a  b  c
//   step 2           c  d  a  b
void ringAllGather(TeamOperation& team, const Spans& blocks, std::size_t segmentBytes,
                   const std::function<void(const Span&)>& arrived) {
  for (int step = 0; step < team.size() - 1; ++step) {
    const Span& sent = blocks[static_cast<std::size_t>(team.below(step))];
    const Span& received = blocks[static_cast<std::size_t>(team.below(step + 1))];
    const std::size_t segments = segmentsIn(std::max(sent.bytes, received.bytes), segmentBytes);
    for (std::size_t s = 0; s < segments; ++s) {
      const Span out = segmentOfBlock(sent, segmentBytes, s);
      const Span in = segmentOfBlock(received, segmentBytes, s);
      std::vector<TeamOperation::Send> sends;
      std::vector<TeamOperation::Receive> receives;
      if (out.bytes > 0) sends.push_back({team.above(), out.data, out.bytes});
      if (in.bytes > 0) receives.push_back({team.below(), in.data, in.bytes});
      team.transfer(sends, receives);
      if (arrived) arrived(in);
    }
  }
}

}  // namespace ringrun
