#include <algorithm>
#include <cstring>

#include "collectives/agreement.h"
#include "collectives/shm/offers.h"
#include "collectives/shm/shm_collectives.h"
#include "collectives/shm/slices.h"

namespace ringrun {

// Every rank reduces what the others have for it, in the order of the ranks, from where they have it (see offers.h).
//
//   small              1 step       and a copy in
//   registered memory  2 steps      no copy
//   anything else      1 per piece  and a copy in
//
// A piece has a slot for each rank, so that all of them reduce at the same time.
void ShmCollectives::reduceScatter(const Call& call, const Blocks& inputs, const Block& output) {
  const std::size_t elementBytes = bytesPerElement(call.fingerprint.dtype);
  Offers offers(arena_, rank_, size_, elementBytes);
  arena_.post(call, {});
  offers.publish(segments_, inputs, rowOf(inputs, rank_, output));
  if (offers.leaveStagingFree()) stageInputs(offers, inputs, elementBytes, 0);
  arena_.arrive(call);
  offers.receive();
  checkReduceScatter(call.fingerprint, size_, offers.counts());

  reduceInputs(call, offers, inputs, output);
  if (offers.includeRegistered()) arena_.step(call);
}

std::size_t ShmCollectives::slotBytes() const {
  const std::size_t lines = kPieceBytes / kLineBytes;
  return lines / static_cast<std::size_t>(size_) * kLineBytes;
}

// Of each input that goes through staging, the bytes that fit its slot, from `begin` on.
void ShmCollectives::stageInputs(const Offers& offers, const Blocks& inputs, std::size_t elementBytes,
                                 std::uint64_t begin) const {
  for (int taker = 0; taker < size_; ++taker) {
    const Block& input = inputs[static_cast<std::size_t>(taker)];
    const std::uint64_t bytes = input.count * elementBytes;
    if (taker == rank_ || begin >= bytes || !offers.isStaged(taker, rank_)) continue;
    std::memcpy(arena_.stagingOf(rank_) + static_cast<std::size_t>(taker) * slotBytes(),
                static_cast<const std::uint8_t*>(input.data) + begin,
                std::min<std::uint64_t>(slotBytes(), bytes - begin));
  }
}

// An input that no rank stages is reduced in one piece. All ranks run as many rounds as the longest input needs.
void ShmCollectives::reduceInputs(const Call& call, const Offers& offers, const Blocks& inputs, const Block& output) {
  const std::size_t elementBytes = bytesPerElement(call.fingerprint.dtype);
  const Block& own = inputs[static_cast<std::size_t>(rank_)];
  const Range all{0, own.count * elementBytes};
  const bool inSlots = offers.isStagedBySome(rank_);
  if (!inSlots) reduceRange(call.fingerprint, offers, own, output, all);

  const std::uint64_t longest = longestStagedInput(offers, inputs) * elementBytes;
  for (std::uint64_t begin = 0; begin < longest; begin += slotBytes()) {
    if (begin > 0 || !offers.leaveStagingFree()) {
      stageInputs(offers, inputs, elementBytes, begin);
      arena_.step(call);
    }
    if (inSlots) reduceRange(call.fingerprint, offers, own, output, overlapOf(all, {begin, begin + slotBytes()}));
    arena_.nextStaging();
  }
}

// In elements; lengths are the same on all ranks.
std::uint64_t ShmCollectives::longestStagedInput(const Offers& offers, const Blocks& inputs) const {
  std::uint64_t longest = 0;
  for (int taker = 0; taker < size_; ++taker) {
    if (offers.isStagedBySome(taker)) longest = std::max(longest, inputs[static_cast<std::size_t>(taker)].count);
  }
  return longest;
}

// Bytes of the output; where inputs are staged, those in the slot.
void ShmCollectives::reduceRange(const Fingerprint& fingerprint, const Offers& offers, const Block& input,
                                 const Block& output, const Range& range) const {
  if (range.length() == 0) return;
  const Slices slices = slicesOf(size_, [&](int giver) {
    if (giver == rank_) return static_cast<std::uint8_t*>(input.data) + range.begin;
    if (!offers.isStaged(rank_, giver)) return offers.blockFor(rank_, giver, segments_) + range.begin;
    return arena_.stagingOf(giver) + static_cast<std::size_t>(rank_) * slotBytes();
  });
  void* const result = static_cast<std::uint8_t*>(output.data) + range.begin;
  reduceSlices(fingerprint, slices, &result, 1, range.length() / bytesPerElement(fingerprint.dtype));
}

}  // namespace ringrun
