#include <algorithm>
#include <cstring>

#include "collectives/shm/shm_collectives.h"
#include "reduce/kernels.h"

namespace ringrun {
namespace {

// Pointers to the same elements on every rank.
using Slices = std::vector<void*>;

template <typename Locate>
Slices slicesOf(int size, Locate locate) {
  Slices slices(static_cast<std::size_t>(size));
  for (int rank = 0; rank < size; ++rank) slices[static_cast<std::size_t>(rank)] = locate(rank);
  return slices;
}

void reduceSlices(const Fingerprint& fingerprint, const Slices& inputs, void* const* outputs, std::size_t outputCount,
                  std::size_t count) {
  Reduction reduction;
  reduction.inputs = inputs.data();
  reduction.inputCount = inputs.size();
  reduction.outputs = outputs;
  reduction.outputCount = outputCount;
  reduction.count = count;
  reduction.divisor = divisorOf(fingerprint.reduceOp, inputs.size());
  ringrun::reduce(fingerprint.dtype, fingerprint.reduceOp, reduction);
}

}  // namespace

// Three ways, chosen by what every rank has posted, so that all choose the same. In each, an element is reduced in
// the order of the ranks by somebody who sees all its terms, so all three give the same bytes.
//
//   small              1 step       every rank reads size × bytes
//   registered memory  2 steps      every rank reads and writes bytes (its share of every slice): no copy
//   anything else      2 per piece  the same, and a copy in and out
void ShmCollectives::allReduce(const Call& call, void* data) {
  const std::size_t bytes = call.fingerprint.bytes();
  if (size_ == 1) return;
  if (bytes <= kEagerBytes) return allReduceEagerly(call, data);

  const Placement placement = segments_.placementOf(data, bytes);
  const bool stagesFirstPiece = placement.segment == 0;
  auto* const values = static_cast<std::uint8_t*>(data);
  if (stagesFirstPiece) std::memcpy(arena_.stagingOf(rank_), values, std::min(bytes, kPieceBytes));
  arena_.post(call, placement);
  arena_.arrive(call);
  if (allPostedPlacement(placement) && !stagesFirstPiece) return allReduceInPlace(call, placement);
  allReduceStaged(call, values, !anyPostedPlacement());
}

void ShmCollectives::allReduceEagerly(const Call& call, void* data) {
  arena_.post(call, {});
  std::memcpy(arena_.payloadOf(rank_), data, call.fingerprint.bytes());
  arena_.arrive(call);
  const Slices payloads = slicesOf(size_, [&](int rank) { return arena_.payloadOf(rank); });
  reduceSlices(call.fingerprint, payloads, &data, 1, call.fingerprint.count);
}

void ShmCollectives::allReduceInPlace(const Call& call, const Placement& placement) {
  const std::size_t elementBytes = bytesPerElement(call.fingerprint.dtype);
  const Range share = shareOf(rank_, call.fingerprint, call.fingerprint.count);
  const Slices slices =
      slicesOf(size_, [&](int rank) { return segments_.locate(placement, rank) + share.begin * elementBytes; });
  reduceSlices(call.fingerprint, slices, slices.data(), slices.size(), share.length());
  arena_.step(call);
}

// The halves of staging alternate: while somebody still copies the result of one piece out, the next is copied into
// the other half.
void ShmCollectives::allReduceStaged(const Call& call, std::uint8_t* data, bool firstPieceIsStaged) {
  const std::size_t elementBytes = bytesPerElement(call.fingerprint.dtype);
  const std::size_t bytes = call.fingerprint.bytes();
  for (std::size_t begin = 0; begin < bytes; begin += kPieceBytes) {
    const std::size_t length = std::min(kPieceBytes, bytes - begin);
    if (begin > 0 || !firstPieceIsStaged) {
      std::memcpy(arena_.stagingOf(rank_), data + begin, length);
      arena_.step(call);
    }
    const std::size_t count = length / elementBytes;
    const Range mine = shareOf(rank_, call.fingerprint, count);
    const Slices slices = slicesOf(size_, [&](int rank) { return arena_.stagingOf(rank) + mine.begin * elementBytes; });
    void* const result = slices[static_cast<std::size_t>(rank_)];
    reduceSlices(call.fingerprint, slices, &result, 1, mine.length());
    arena_.step(call);
    for (int rank = 0; rank < size_; ++rank) {
      const Range share = shareOf(rank, call.fingerprint, count);
      const std::size_t offset = share.begin * elementBytes;
      std::memcpy(data + begin + offset, arena_.stagingOf(rank) + offset, share.length() * elementBytes);
    }
    arena_.nextStaging();
  }
}

bool ShmCollectives::allPostedPlacement(const Placement& placement) const {
  for (int rank = 0; rank < size_; ++rank) {
    const Placement& theirs = arena_.postOf(rank).placement;
    if (theirs.segment != placement.segment || theirs.offset != placement.offset) return false;
  }
  return true;
}

bool ShmCollectives::anyPostedPlacement() const {
  for (int rank = 0; rank < size_; ++rank) {
    if (arena_.postOf(rank).placement.segment != 0) return true;
  }
  return false;
}

Range ShmCollectives::shareOf(int rank, const Fingerprint& fingerprint, std::size_t count) const {
  const std::size_t lineOfElements = kLineBytes / bytesPerElement(fingerprint.dtype);
  return splitEvenly(count, static_cast<std::size_t>(size_), static_cast<std::size_t>(rank), lineOfElements);
}

}  // namespace ringrun
