#include <algorithm>

#include "collectives/split.h"
#include "collectives/tcp/all_gather.h"
#include "collectives/tcp/all_reduce.h"

namespace ringrun {
namespace {

// Bytes of a message: large enough to amortise system calls, small enough to stay in the L2 cache until it is
// reduced.
constexpr std::size_t kReducedBytes = 256 * 1024;

// The same for messages that are not reduced.
constexpr std::size_t kGatheredBytes = 1024 * 1024;

// The array in one *chunk* for each place of the team, each cut into equally many segments, so that all ranks
// count the same steps.
class Chunks {
 public:
  Chunks(std::size_t count, int size, std::size_t elementBytes)
      : count_(count),
        size_(static_cast<std::size_t>(size)),
        perSegment_(kReducedBytes / elementBytes),
        longest_((count + size_ - 1) / size_) {}

  std::size_t longest() const { return longest_; }

  // At least one, because its message also compares fingerprints.
  std::size_t segments() const { return std::max<std::size_t>(segmentsIn(longest_, perSegment_), 1); }

  Range chunk(int place) const { return splitEvenly(count_, size_, static_cast<std::size_t>(place), 1); }
  Range segment(int place, std::size_t s) const { return segmentOf(chunk(place), perSegment_, s); }

 private:
  std::size_t count_;
  std::size_t size_;
  std::size_t perSegment_;
  std::size_t longest_;
};

// Buffers for partial results, from their arrival until they are sent one step later; reused two steps later.
// Two ranks never pass a partial result on and need only one segment.
class PartialResults {
 public:
  PartialResults(TeamOperation& team, const Chunks& chunks, std::size_t elementBytes)
      : elementBytes_(elementBytes), keepsChunks_(team.size() > 2),
        stepBytes_(keepsChunks_ ? chunks.longest() * elementBytes : kReducedBytes),
        memory_(team.receiveBuffer(2 * stepBytes_)) {}

  std::uint8_t* of(int step, const Range& chunk, const Range& segment) const {
    const std::size_t within = keepsChunks_ ? (segment.begin - chunk.begin) * elementBytes_ : 0;
    return memory_ + static_cast<std::size_t>(step % 2) * stepBytes_ + within;
  }

 private:
  std::size_t elementBytes_;
  bool keepsChunks_;
  std::size_t stepBytes_;
  std::uint8_t* memory_;
};

// Ring reduce-scatter: in step s of size − 1, the rank at place r sends chunk r − s − 1 to the right, receives
// chunk r − s − 2 from the left (modulo size), and adds its own term. The last step completes the chunk of its
// own place, which has passed every rank, and every rank has compared fingerprints with the previous one: all
// agree, and the caller's memory may be written.
//
//   4 ranks    sends 0  1  2  3
//   step 0           d  a  b  c     term of one rank
//   step 1           c  d  a  b     of two
//   step 2           b  c  d  a     of three; the receiver's is the last
void reduceChunksInRing(TeamOperation& team, const Combination& combination, std::uint8_t* data, const Chunks& chunks,
                        const OverlapCallbacks& callbacks) {
  const std::size_t elementBytes = combination.elementBytes();
  const PartialResults partials(team, chunks, elementBytes);
  const int lastStep = team.size() - 2;
  const std::size_t segments = chunks.segments();
  const std::size_t ahead = team.sendsAhead(team.above(), segments - 1);
  std::size_t begun = 0;
  // Messages number step × segments + s, in both directions.
  const auto send = [&](std::size_t message) -> TeamOperation::Send {
    const int step = static_cast<int>(message / segments);
    const int sent = team.below((step + 1) % team.size());
    const Range out = chunks.segment(sent, message % segments);
    if (step == 0) callbacks.beforeUse(out);
    const std::uint8_t* const from =
        step == 0 ? data + out.begin * elementBytes : partials.of(step - 1, chunks.chunk(sent), out);
    return {team.above(), from, out.length() * elementBytes, true};
  };
  for (std::size_t message = 0; message < segments * static_cast<std::size_t>(lastStep + 1); ++message) {
    const int step = static_cast<int>(message / segments);
    const int received = team.below((step + 2) % team.size());
    const Range in = chunks.segment(received, message % segments);
    std::uint8_t* const own = data + in.begin * elementBytes;
    std::uint8_t* const into = partials.of(step, chunks.chunk(received), in);
    std::vector<TeamOperation::Send> sends;
    for (; begun <= message + ahead && begun < segments * static_cast<std::size_t>(lastStep + 1); ++begun) {
      sends.push_back(send(begun));
    }
    callbacks.beforeUse(in);
    // `into` held the partial result of the message that was sent `segments` before.
    team.transfer(sends, {{team.below(), into, in.length() * elementBytes}}, ahead);
    if (step < lastStep) {
      combination.combine({into, own}, into, in.length());
    } else {
      combination.complete({into, own}, own, in.length());
      callbacks.whenComplete(in);
    }
  }
}

}  // namespace

// Ring: reduce-scatter, then all-gather. 2(size − 1) steps, in each of which every rank sends one chunk to the
// right and receives one from the left. Each rank sends 2(size − 1)/size × bytes.
//
// Order of reduction in a chunk: along the ring, starting right of its owner; the same in every run, and done
// once for all ranks.
void ringAllReduce(TeamOperation& team, const Combination& combination, void* data, std::size_t count,
                   const OverlapCallbacks& callbacks) {
  auto* const values = static_cast<std::uint8_t*>(data);
  const std::size_t elementBytes = combination.elementBytes();
  const Chunks chunks(count, team.size(), elementBytes);
  reduceChunksInRing(team, combination, values, chunks, callbacks);
  Spans blocks;
  for (int place = 0; place < team.size(); ++place) {
    const Range chunk = chunks.chunk(place);
    blocks.push_back({values + chunk.begin * elementBytes, chunk.length() * elementBytes});
  }
  ringAllGather(team, blocks, kGatheredBytes, [&](const Span& arrived) {
    const std::size_t begin = static_cast<std::size_t>(arrived.data - values) / elementBytes;
    callbacks.whenComplete({begin, begin + arrived.bytes / elementBytes});
  });
}

}  // namespace ringrun
