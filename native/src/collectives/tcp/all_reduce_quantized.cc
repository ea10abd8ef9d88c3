#include "collectives/tcp/all_reduce_quantized.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "collectives/tcp/pending_work.h"
#include "reduce/quantize.h"

namespace ringrun {
namespace {

// Elements that a rank sends to all others in one step.
constexpr std::size_t kElementsPerStep = 256 * 1024;

// Limits of one segment.
constexpr std::size_t kMaxSegmentElements = 64 * 1024;
constexpr std::size_t kMinSegmentElements = 4 * kQuantizedBlock;

// Steps from the terms of a segment to its result: the step in which it is reduced lies between. If any link is long, more, and
// a rank sends the terms of as many more segments, or of those that fill the link, before those of others have arrived. Otherwise
// that would only take memory out of caches.
constexpr std::size_t kShortLag = 2;
constexpr std::size_t kLongLag = 8;

// About 10 µs of work.
constexpr std::size_t kElementsAtATime = 32 * kQuantizedBlock;

// Equal on all ranks, and a whole number of blocks.
std::size_t segmentElementsFor(int size) {
  const std::size_t share = kElementsPerStep / static_cast<std::size_t>(size) / kQuantizedBlock * kQuantizedBlock;
  return std::clamp(share, kMinSegmentElements, kMaxSegmentElements);
}

// The array in one part for each rank, which reduces it, and each part in segments. In step t, a rank sends to each other rank the
// rounded terms of segment t of its part, and the reduced and rounded segment t − lag of its own part; meanwhile it reduces segment
// t − 1, rounds the terms of a later segment, and writes the results of segment t − 1 − lag. So computing overlaps with sending.
//
// The messages of steps that are under way are in different buffers.
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
        segments_(segmentsIn(longestPart(), perSegment_)),
        hasLongLink_(sendsAhead(1) > 0),
        buffers_(team.receiveBuffer((kLongLag + 1 + kReceiveSlots) * bufferBytes() * static_cast<std::size_t>(team.size()))),
        firstErrors_(reduction.error == nullptr ? nullptr : team.widened(perSegment_ * static_cast<std::size_t>(team.size()))),
        work_(kElementsAtATime) {}

  void run() {
    // Until the first transfer has ended, ranks may disagree, and nothing of the caller is written.
    addRounding(0);
    work_.runAll();
    tellLongLink();
    transfer(0, 0);
    keepFirstErrors();
    if (anyHasLongLink()) lag_ = std::clamp(segments_, kShortLag, kLongLag);
    const std::size_t ahead = sendsAhead(lag_ - kShortLag);
    for (std::size_t s = 1; s <= 1 + ahead; ++s) addRounding(s);
    work_.runAll();
    for (std::size_t step = 1; step <= lastStep(); ++step) {
      addReduction(step - 1);
      addRounding(step + ahead + 1);
      if (step > lag_) addResults(step - 1 - lag_);
      transfer(step, step == lastStep() ? 0 : ahead);
      work_.runAll();
    }
    addResults(segments_ - 1);
    work_.runAll();
  }

 private:
  static constexpr std::size_t kReceiveSlots = 2;
  static constexpr std::size_t kLongLinkBytes = 64;  // one, and others so that buffers begin at cache lines

  std::size_t bufferBytes() const { return 2 * segmentBytes_ + kLongLinkBytes; }
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

  // While segment `step` − 1 is reduced, its terms are in use, and its result is added to the message of step − 1 + lag.
  std::size_t sendSlots() const { return lag_ + 1; }
  std::uint8_t* sentTo(int place, std::size_t step) const { return buffer(kReceiveSlots + step % sendSlots(), place); }
  std::uint8_t* receivedFrom(int place, std::size_t step) const { return buffer(step % kReceiveSlots, place); }
  std::uint8_t* buffer(std::size_t slot, int place) const {
    return buffers_ + (slot * static_cast<std::size_t>(team_.size()) + static_cast<std::size_t>(place)) * bufferBytes();
  }

  // A message: the terms of segment `step` of the receiver's part, then segment `step` − lag of the sender's, reduced. In the
  // first message, a byte instead: 1 if the sender has a long link.
  std::size_t termBytes(int to, std::size_t step) const { return bytesOf(segment(to, step)); }
  std::size_t resultBytes(int from, std::size_t step) const {
    if (step == 0) return 1;
    return step < lag_ ? 0 : bytesOf(segment(from, step - lag_));
  }
  void tellLongLink() const {
    for (int distance = 1; distance < team_.size(); ++distance) {
      *resultIn(team_.above(distance), 0) = hasLongLink_ ? 1 : 0;
    }
  }
  bool anyHasLongLink() const {
    bool any = hasLongLink_;
    for (int distance = 1; distance < team_.size(); ++distance) {
      any |= receivedFrom(team_.below(distance), 0)[termBytes(team_.place(), 0)] != 0;
    }
    return any;
  }
  std::size_t lastStep() const { return segments_ + lag_ - 1; }

  // Messages that may be sent before those of the same steps have arrived.
  std::size_t sendsAhead(std::size_t most) const {
    std::size_t ahead = 0;
    for (int distance = 1; distance < team_.size(); ++distance) {
      ahead = std::max(ahead, team_.sendsThatFill(team_.above(distance), segmentBytes_, most));
    }
    return ahead;
  }

  // Sends the messages of all steps until `step` + `ahead`, and receives those of `step`.
  void transfer(std::size_t step, std::size_t ahead) {
    std::vector<TeamOperation::Send> sends;
    std::vector<TeamOperation::Receive> receives;
    for (; sentSteps_ <= std::min(step + ahead, lastStep()); ++sentSteps_) {
      for (int distance = 1; distance < team_.size(); ++distance) {
        const int to = team_.above(distance);
        const std::size_t sent = termBytes(to, sentSteps_) + resultBytes(team_.place(), sentSteps_);
        if (sent > 0) sends.push_back({to, sentTo(to, sentSteps_), sent});
      }
    }
    for (int distance = 1; distance < team_.size(); ++distance) {
      const int from = team_.below(distance);
      const std::size_t received = termBytes(team_.place(), step) + resultBytes(from, step);
      if (received > 0) receives.push_back({from, receivedFrom(from, step), received});
    }
    team_.transfer(sends, receives, ahead, [this] { return work_.runPiece(); });
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

  // Reduces segment s of this rank's part: into the messages of step s + lag, and into its own data.
  void addReduction(std::size_t s) {
    const Range whole = segment(team_.place(), s);
    work_.add(whole, [this, s, whole](const Range& range) {
      const std::size_t offset = bytesOf({whole.begin, range.begin});
      std::vector<const std::uint8_t*> terms;
      for (int place = 0; place < team_.size(); ++place) {
        terms.push_back((place == team_.place() ? sentTo(place, s) : receivedFrom(place, s)) + offset);
      }
      float* const error = reduction_.error == nullptr ? nullptr : reduction_.error + range.begin;
      std::uint8_t* const result = resultIn(team_.above(), s + lag_) + offset;
      quantizer_.combine(terms.data(), terms.size(), result, error, range.length());
      for (int distance = 2; distance < team_.size(); ++distance) {
        std::memcpy(resultIn(team_.above(distance), s + lag_) + offset, result, bytesOf(range));
      }
      write(result, range);
    });
  }
  std::uint8_t* resultIn(int to, std::size_t step) const { return sentTo(to, step) + termBytes(to, step); }

  // Writes segment s of the parts of the other ranks, which the transfer of step s + lag has received.
  void addResults(std::size_t s) {
    for (int distance = 1; distance < team_.size(); ++distance) {
      const int from = team_.below(distance);
      const Range whole = segment(from, s);
      const std::uint8_t* const packed = receivedFrom(from, s + lag_) + termBytes(team_.place(), s + lag_);
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
  std::size_t segments_;  // of the longest part
  bool hasLongLink_;
  std::size_t lag_ = kShortLag;  // until all ranks have told
  std::size_t sentSteps_ = 0;
  std::uint8_t* buffers_;
  float* firstErrors_;  // of segment 0 of every part, until all ranks agree
  PendingWork work_;
};

}  // namespace

// One step for each segment, and as many more as the lag. Each rank sends 2(size − 1)/size × the packed bytes.
void allReduceQuantized(TeamOperation& team, const QuantizedReduction& reduction, std::size_t divisor, const OverlapCallbacks& callbacks) {
  if (reduction.count > 0) Steps(team, reduction, divisor, callbacks).run();
}

}  // namespace ringrun
