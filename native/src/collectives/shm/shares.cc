#include <algorithm>
#include <cstring>
#include <vector>

#include "collectives/shm/shm_collectives.h"
#include "collectives/shm/slices.h"
#include "reduce/widen.h"

// The parts of an all-reduce, between which a rank may work on its share. As in allReduce, registered memory is
// read and written in place: only the owner of a share does either, so no step is needed in between. Other
// memory goes through staging, with one step for each piece: a rank that overwrites a half of staging has seen
// all ranks one step beyond its previous piece.

namespace ringrun {
namespace {

// Elements widened at a time: as float32, those of several ranks fit into the L1 cache.
constexpr std::size_t kWidenedElements = 1024;

// Reduces without AVG's division, because the result is combined with those of other hosts.
void reducePartially(const Fingerprint& fingerprint, DType dtype, const Slices& inputs, void* output, std::size_t count) {
  ringrun::reduce(dtype, fingerprint.reduceOp, {inputs.data(), inputs.size(), &output, 1, count, 1});
}

void reduceInFloat32(const Fingerprint& fingerprint, const Slices& inputs, float* output, std::size_t count) {
  std::vector<float> widened(kWidenedElements * inputs.size());
  const Slices terms = slicesOf(static_cast<int>(inputs.size()), [&](int i) {
    return widened.data() + kWidenedElements * static_cast<std::size_t>(i);
  });
  for (std::size_t begin = 0; begin < count; begin += kWidenedElements) {
    const std::size_t length = std::min(kWidenedElements, count - begin);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto* const from = static_cast<const std::uint8_t*>(inputs[i]) + begin * bytesPerElement(fingerprint.dtype);
      widen(fingerprint.dtype, from, static_cast<float*>(terms[i]), length);
    }
    reducePartially(fingerprint, DType::Float32, terms, output + begin, length);
  }
}

}  // namespace

DType partialDType(DType dtype) { return isReducedInFloat32(dtype) ? DType::Float32 : dtype; }

Range Shares::of(int place) const {
  if (place >= owners) return {0, 0};
  const std::size_t lineOfElements = kLineBytes / bytesPerElement(dtype);
  return splitEvenly(count, static_cast<std::size_t>(owners), static_cast<std::size_t>(place), lineOfElements);
}

void ShmCollectives::beginShares(const Call& call, const Shares& shares, const void* data, void* partial) {
  const std::size_t elementBytes = bytesPerElement(shares.dtype);
  const std::size_t bytes = shares.count * elementBytes;
  const auto* const values = static_cast<const std::uint8_t*>(data);
  const Range share = shares.of(rank_);
  const Placement placement = allocations_.placementOf(data, bytes);
  arena_.post(call, placement);
  if (!placement.isRegistered()) std::memcpy(arena_.stagingOf(rank_), values, std::min(bytes, kPieceBytes));
  arena_.arrive(call);

  const int registered = ranksRegistered();
  if (registered == size_) return;
  for (std::size_t begin = 0; begin < bytes; begin += kPieceBytes) {
    const std::size_t length = std::min(kPieceBytes, bytes - begin);
    if (begin > 0 || registered > 0) {
      std::memcpy(arena_.stagingOf(rank_), values + begin, length);
      arena_.step(call);
    }
    const auto pieceOf = [&](int rank) { return arena_.stagingOf(rank); };
    reducePart(call.fingerprint, pieceOf, {begin / elementBytes, (begin + length) / elementBytes}, share, partial);
    arena_.nextStaging();
  }
}

void ShmCollectives::reduceInShare(const Call& call, const Shares& shares, const Range& range, void* partial) const {
  if (ranksRegistered() < size_) return;
  const Range share = shares.of(rank_);
  const Range held{share.begin + range.begin, share.begin + range.end};
  const std::size_t offset = held.begin * bytesPerElement(shares.dtype);
  reducePart(call.fingerprint, [&](int rank) { return registeredArrayOf(rank) + offset; }, held, share, partial);
}

// Reduces the part of the share in `held`, whose elements are at `locate(rank)` on each rank.
template <typename Locate>
void ShmCollectives::reducePart(const Fingerprint& fingerprint, Locate locate, const Range& held, const Range& share,
                                void* partial) const {
  const Range part = overlapOf(held, share);
  if (part.length() == 0) return;
  const DType dtype = partialDType(fingerprint.dtype);
  const std::size_t offset = (part.begin - held.begin) * bytesPerElement(fingerprint.dtype);
  const Slices inputs = slicesOf(size_, [&](int rank) { return locate(rank) + offset; });
  auto* const output = static_cast<std::uint8_t*>(partial) + (part.begin - share.begin) * bytesPerElement(dtype);
  if (dtype == fingerprint.dtype) return reducePartially(fingerprint, dtype, inputs, output, part.length());
  reduceInFloat32(fingerprint, inputs, reinterpret_cast<float*>(output), part.length());
}

void ShmCollectives::spreadFromShare(const Shares& shares, const Range& range, const void* complete) const {
  if (ranksRegistered() < size_ || range.length() == 0) return;
  const std::size_t elementBytes = bytesPerElement(shares.dtype);
  const std::size_t offset = (shares.of(rank_).begin + range.begin) * elementBytes;
  const auto* const values = static_cast<const std::uint8_t*>(complete) + range.begin * elementBytes;
  for (int rank = 0; rank < size_; ++rank) {
    std::memcpy(registeredArrayOf(rank) + offset, values, range.length() * elementBytes);
  }
}

void ShmCollectives::endShares(const Call& call, const Shares& shares, const void* complete, void* data) {
  if (ranksRegistered() == size_) return arena_.step(call);
  const std::size_t elementBytes = bytesPerElement(shares.dtype);
  const std::size_t bytes = shares.count * elementBytes;
  const auto* const values = static_cast<const std::uint8_t*>(complete);
  const Range share = shares.of(rank_);
  for (std::size_t begin = 0; begin < bytes; begin += kPieceBytes) {
    const Range piece{begin / elementBytes, std::min(bytes, begin + kPieceBytes) / elementBytes};
    const Range mine = overlapOf(piece, share);
    std::memcpy(arena_.stagingOf(rank_) + (mine.begin - piece.begin) * elementBytes,
                values + (mine.begin - share.begin) * elementBytes, mine.length() * elementBytes);
    arena_.step(call);
    for (int owner = 0; owner < shares.owners; ++owner) {
      const Range theirs = overlapOf(piece, shares.of(owner));
      std::memcpy(static_cast<std::uint8_t*>(data) + theirs.begin * elementBytes,
                  arena_.stagingOf(owner) + (theirs.begin - piece.begin) * elementBytes, theirs.length() * elementBytes);
    }
    arena_.nextStaging();
  }
}

}  // namespace ringrun
