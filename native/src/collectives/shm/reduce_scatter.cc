#include <algorithm>
#include <cstring>

#include "collectives/lengths.h"
#include "collectives/shm/block_tables.h"
#include "collectives/shm/shm_collectives.h"
#include "collectives/shm/slices.h"

namespace ringrun {

// Every rank reduces the inputs for it, in the order of the ranks, from where they are (block_tables.h).
//
//   small              1 step            a copy into the payload
//   registered memory  2 steps           no copy
//   otherwise          1 for each piece  a copy into staging
//
// A piece has a slot for each rank, so that all of them reduce at the same time.
void ShmCollectives::reduceScatter(const Call& call, const Blocks& inputs, const Block& output) {
  const std::size_t elementBytes = bytesPerElement(call.fingerprint.dtype);
  BlockTables tables(arena_, rank_, size_, elementBytes);
  arena_.post(call, {});
  tables.publish(allocations_, inputs, rowOf(inputs, rank_, output));
  if (tables.fitInPayload()) stageInputs(tables, inputs, elementBytes, 0);
  arena_.arrive(call);
  tables.readAll();
  checkReduceScatter(call.fingerprint, size_, tables.counts());

  reduceInputs(call, tables, inputs, output);
  if (tables.anyRegistered()) arena_.step(call);
}

std::size_t ShmCollectives::slotBytes() const {
  const std::size_t lines = kPieceBytes / kLineBytes;
  return lines / static_cast<std::size_t>(size_) * kLineBytes;
}

// Copies into each slot the bytes of its input from `begin` on, if that input is staged.
void ShmCollectives::stageInputs(const BlockTables& tables, const Blocks& inputs, std::size_t elementBytes,
                                 std::uint64_t begin) const {
  for (int receiver = 0; receiver < size_; ++receiver) {
    const Block& input = inputs[static_cast<std::size_t>(receiver)];
    const std::uint64_t bytes = input.count * elementBytes;
    if (receiver == rank_ || begin >= bytes || !tables.isStaged(receiver, rank_)) continue;
    std::memcpy(arena_.stagingOf(rank_) + static_cast<std::size_t>(receiver) * slotBytes(),
                static_cast<const std::uint8_t*>(input.data) + begin,
                std::min<std::uint64_t>(slotBytes(), bytes - begin));
  }
}

// Reduces an input that no rank stages in one piece. All ranks run as many rounds as the longest input needs.
void ShmCollectives::reduceInputs(const Call& call, const BlockTables& tables, const Blocks& inputs, const Block& output) {
  const std::size_t elementBytes = bytesPerElement(call.fingerprint.dtype);
  const Block& own = inputs[static_cast<std::size_t>(rank_)];
  const Range all{0, own.count * elementBytes};
  const bool inSlots = tables.isStagedBySome(rank_);
  if (!inSlots) reduceRange(call.fingerprint, tables, own, output, all);

  const std::uint64_t longest = longestStagedInput(tables, inputs) * elementBytes;
  for (std::uint64_t begin = 0; begin < longest; begin += slotBytes()) {
    if (begin > 0 || !tables.fitInPayload()) {
      stageInputs(tables, inputs, elementBytes, begin);
      arena_.step(call);
    }
    if (inSlots) reduceRange(call.fingerprint, tables, own, output, overlapOf(all, {begin, begin + slotBytes()}));
    arena_.nextStaging();
  }
}

// In elements. Lengths are the same on all ranks.
std::uint64_t ShmCollectives::longestStagedInput(const BlockTables& tables, const Blocks& inputs) const {
  std::uint64_t longest = 0;
  for (int receiver = 0; receiver < size_; ++receiver) {
    if (tables.isStagedBySome(receiver)) longest = std::max(longest, inputs[static_cast<std::size_t>(receiver)].count);
  }
  return longest;
}

// Reduces a byte range of the output; of staged inputs, the range in the slot.
void ShmCollectives::reduceRange(const Fingerprint& fingerprint, const BlockTables& tables, const Block& input,
                                 const Block& output, const Range& range) const {
  if (range.length() == 0) return;
  const Slices slices = slicesOf(size_, [&](int sender) {
    if (sender == rank_) return static_cast<std::uint8_t*>(input.data) + range.begin;
    if (!tables.isStaged(rank_, sender)) return tables.blockFor(rank_, sender, allocations_) + range.begin;
    return arena_.stagingOf(sender) + static_cast<std::size_t>(rank_) * slotBytes();
  });
  void* const result = static_cast<std::uint8_t*>(output.data) + range.begin;
  reduceSlices(fingerprint, slices, &result, 1, range.length() / bytesPerElement(fingerprint.dtype));
}

}  // namespace ringrun
