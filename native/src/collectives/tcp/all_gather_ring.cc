#include <algorithm>
#include <deque>
#include <limits>
#include <vector>

#include "collectives/split.h"
#include "collectives/tcp/all_gather.h"

namespace ringrun {
namespace {

Span segmentOfBlock(const Span& block, std::size_t segmentBytes, std::size_t s) {
  const Range range = segmentOf({0, block.bytes}, segmentBytes, s);
  return {block.data + range.begin, range.length()};
}

// All messages may be sent before others arrive: nothing overwrites them.
constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

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
  const std::size_t ahead = team.sendsAhead(team.above(), kNoLimit);
  std::deque<Span> toSend;  // has arrived, or is this rank's own
  const auto addSegments = [&](const Span& block) {
    for (std::size_t s = 0; s < segmentsIn(block.bytes, segmentBytes); ++s) {
      toSend.push_back(segmentOfBlock(block, segmentBytes, s));
    }
  };
  addSegments(blocks[static_cast<std::size_t>(team.place())]);
  for (int step = 0; step < team.size() - 1; ++step) {
    const Span& sent = blocks[static_cast<std::size_t>(team.below(step))];
    const Span& received = blocks[static_cast<std::size_t>(team.below(step + 1))];
    const bool isPassedOn = step < team.size() - 2;
    const std::size_t toReceive = segmentsIn(received.bytes, segmentBytes);
    const std::size_t segments = std::max(segmentsIn(sent.bytes, segmentBytes), toReceive);
    for (std::size_t s = 0; s < segments; ++s) {
      const Span in = segmentOfBlock(received, segmentBytes, s);
      std::vector<TeamOperation::Send> sends;
      std::vector<TeamOperation::Receive> receives;
      const std::size_t due = ahead > 0 ? toSend.size() : s < segmentsIn(sent.bytes, segmentBytes) ? 1 : 0;
      for (std::size_t i = 0; i < due; ++i) {
        sends.push_back({team.above(), toSend.front().data, toSend.front().bytes, true});
        toSend.pop_front();
      }
      if (in.bytes > 0) receives.push_back({team.below(), in.data, in.bytes});
      team.transfer(sends, receives, ahead);
      if (isPassedOn && in.bytes > 0) toSend.push_back(in);
      if (arrived) arrived(in);
    }
  }
  if (ahead > 0) team.transfer({}, {});
}

}  // namespace ringrun
