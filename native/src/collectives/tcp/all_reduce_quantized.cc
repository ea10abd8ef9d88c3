#include "collectives/tcp/all_reduce_quantized.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "collectives/tcp/agree.h"
#include "collectives/tcp/pending_work.h"
#include "reduce/quantize.h"

namespace ringrun {
namespace {

// Elements that a rank sends to all others in one step.
constexpr std::size_t kElementsPerStep = 256 * 1024;

// Limits of one segment.
constexpr std::size_t kMaxSegmentElements = 64 * 1024;
constexpr std::size_t kMinSegmentElements = 4 * kQuantizedBlock;

// About 10 µs of work.
constexpr std::size_t kElementsAtATime = 32 * kQuantizedBlock;

// Equal on all ranks, and a whole number of blocks.
std::size_t segmentElementsFor(int size) {
  const std::size_t share = kElementsPerStep / static_cast<std::size_t>(size) / kQuantizedBlock * kQuantizedBlock;
  return std::clamp(share, kMinSegmentElements, kMaxSegmentElements);
}

// The array in one part for each rank, which reduces it, and each part in segments. In step t, a rank sends to each other rank the
// rounded terms of segment t of its part, and the reduced and rounded segment t − 2 of its own part; meanwhile it reduces segment
// t − 1, rounds the terms of segment t + 1, and writes the results of segment t − 3. So computing overlaps with sending.
//
// The messages of two successive steps are in different buffers.
class Steps {
 public:
  Steps(TeamOperation& team, const QuantizedReduction& reduction, std::size_t divisor, const OverlapCallbacks& callbacks)
      : team_(team),
        reduction_(reduction),
        divisor_(divisor),
        callbacks_(callbacks),
        quantizer_(quantizerFor(reduction.bits)),
        perSegment_(std::min(segmentElementsFor(team.size()), blocksIn(reduction.count) * kQuantizedBlock)),
        segmentBytes_(quantizedBytes(reduction.bits, perSegment_)),
        buffers_(team.receiveBuffer(2 * 2 * messageBytes() * static_cast<std::size_t>(team.size()))),
        firstErrors_(reduction.error == nullptr ? nullptr : team.widened(perSegment_ * static_cast<std::size_t>(team.size()))),
        work_(kElementsAtATime) {}

  void run() {
    // Until the first transfer has ended, ranks may disagree, and nothing of the caller is written.
    const std::size_t segments = segmentsIn(longestPart(), perSegment_);
    addRounding(0);
    work_.runAll();
    transfer(0);
    keepFirstErrors();
    if (segments > 1) addRounding(1);
    work_.runAll();
    for (std::size_t step = 1; step < segments + 2; ++step) {
      if (step <= segments) addReduction(step - 1);
      if (step + 1 < segments) addRounding(step + 1);
      if (step >= 3) addResults(step - 3);
      transfer(step);
      work_.runAll();
    }
    addResults(segments - 1);
    work_.runAll();
  }

 private:
  std::size_t messageBytes() const { return 2 * segmentBytes_; }
  std::size_t bytesOf(const Range& range) const { return quantizedBytes(reduction_.bits, range.length()); }

  // Parts begin at whole blocks.
  Range part(int place) const {
    return splitEvenly(reduction_.count, static_cast<std::size_t>(team_.size()), static_cast<std::size_t>(place), kQuantizedBlock);
  }
  std::size_t longestPart() const {
    std::size_t longest = 0;
    for (int place = 0; place < team_.size(); ++place) longest = std::max(longest, part(place).length());
    return longest;
  }
  // Empty beyond the end of a part.
  Range segment(int place, std::size_t s) const { return segmentOf(part(place), perSegment_, s); }

  std::uint8_t* sentTo(int place, std::size_t step) const { return buffer(0, place, step); }
  std::uint8_t* receivedFrom(int place, std::size_t step) const { return buffer(1, place, step); }
  std::uint8_t* buffer(std::size_t direction, int place, std::size_t step) const {
    const std::size_t index = (direction * 2 + step % 2) * static_cast<std::size_t>(team_.size()) + static_cast<std::size_t>(place);
    return buffers_ + index * messageBytes();
  }

  // A message: the terms of segment `step` of the receiver's part, then segment `step` − 2 of the sender's, reduced.
  std::size_t termBytes(int to, std::size_t step) const { return bytesOf(segment(to, step)); }
  std::size_t resultBytes(int from, std::size_t step) const { return step < 2 ? 0 : bytesOf(segment(from, step - 2)); }

  void transfer(std::size_t step) {
    std::vector<TeamOperation::Send> sends;
    std::vector<TeamOperation::Receive> receives;
    for (int distance = 1; distance < team_.size(); ++distance) {
      const int to = team_.above(distance);
      const int from = team_.below(distance);
      const std::size_t sent = termBytes(to, step) + resultBytes(team_.place(), step);
      const std::size_t received = termBytes(team_.place(), step) + resultBytes(from, step);
      if (sent > 0) sends.push_back({to, sentTo(to, step), sent});
      if (received > 0) receives.push_back({from, receivedFrom(from, step), received});
    }
    team_.transfer(sends, receives, 0, [this] { return work_.runPiece(); });
  }

  // Rounds this rank's terms of segment s of every part.
  void addRounding(std::size_t s) {
    for (int place = 0; place < team_.size(); ++place) {
      const Range whole = segment(place, s);
      float* const errors = errorsOf(place, s);
      work_.add(whole, [this, whole, errors, packed = sentTo(place, s)](const Range& range) {
        callbacks_.beforeUse(range);
        const std::size_t within = range.begin - whole.begin;
        const float* const error = reduction_.error == nullptr ? nullptr : reduction_.error + range.begin;
        float* const left = errors == nullptr ? nullptr : errors + within;
        quantizer_.quantize(reduction_.data + range.begin, divisor_, error, packed + bytesOf({0, within}), left, range.length());
      });
    }
  }
  // Where the new errors of a segment go.
  float* errorsOf(int place, std::size_t s) const {
    if (reduction_.error == nullptr) return nullptr;
    return s == 0 ? firstErrors_ + static_cast<std::size_t>(place) * perSegment_ : reduction_.error + segment(place, s).begin;
  }
  void keepFirstErrors() const {
    if (reduction_.error == nullptr) return;
    for (int place = 0; place < team_.size(); ++place) {
      const Range range = segment(place, 0);
      std::memcpy(reduction_.error + range.begin, errorsOf(place, 0), range.length() * sizeof(float));
    }
  }

  // Reduces segment s of this rank's part: into the messages of step s + 2, and into its own data.
  void addReduction(std::size_t s) {
    const Range whole = segment(team_.place(), s);
    work_.add(whole, [this, s, whole](const Range& range) {
      const std::size_t offset = bytesOf({whole.begin, range.begin});
      std::vector<const std::uint8_t*> terms;
      for (int place = 0; place < team_.size(); ++place) {
        terms.push_back((place == team_.place() ? sentTo(place, s) : receivedFrom(place, s)) + offset);
      }
      float* const error = reduction_.error == nullptr ? nullptr : reduction_.error + range.begin;
      std::uint8_t* const result = resultIn(team_.above(), s + 2) + offset;
      quantizer_.combine(terms.data(), terms.size(), result, error, range.length());
      for (int distance = 2; distance < team_.size(); ++distance) {
        std::memcpy(resultIn(team_.above(distance), s + 2) + offset, result, bytesOf(range));
      }
      write(result, range);
    });
  }
  std::uint8_t* resultIn(int to, std::size_t step) const { return sentTo(to, step) + termBytes(to, step); }

  // Writes segment s of the parts of the other ranks, which the transfer of step s + 2 has received.
  void addResults(std::size_t s) {
    for (int distance = 1; distance < team_.size(); ++distance) {
      const int from = team_.below(distance);
      const Range whole = segment(from, s);
      const std::uint8_t* const packed = receivedFrom(from, s + 2) + termBytes(team_.place(), s + 2);
      work_.add(whole, [this, whole, packed](const Range& range) { write(packed + bytesOf({whole.begin, range.begin}), range); });
    }
  }
  void write(const std::uint8_t* packed, const Range& range) {
    quantizer_.dequantize(packed, reduction_.data + range.begin, range.length());
    callbacks_.whenComplete(range);
  }

  TeamOperation& team_;
  const QuantizedReduction& reduction_;
  std::size_t divisor_;
  const OverlapCallbacks& callbacks_;
  const Quantizer& quantizer_;
  std::size_t perSegment_;
  std::size_t segmentBytes_;
  std::uint8_t* buffers_;
  float* firstErrors_;  // of segment 0 of every part, until all ranks agree
  PendingWork work_;
};

}  // namespace

// One step for each segment, and two more. Each rank sends 2(size − 1)/size × the packed bytes.
void allReduceQuantized(TeamOperation& team, const QuantizedReduction& reduction, std::size_t divisor, const OverlapCallbacks& callbacks) {
  // Empty segments are not sent, so the ranks must agree first.
  if (blocksIn(reduction.count) < static_cast<std::size_t>(team.size())) agree(team);
  if (reduction.count > 0) Steps(team, reduction, divisor, callbacks).run();
}

}  // namespace ringrun
