#include <algorithm>
#include <cstring>

#include "collectives/shm/shm_collectives.h"
#include "collectives/shm/slices.h"

namespace ringrun {

// The variants of allReduce, with the same bytes, chosen from the posts of all ranks:
//
//   small                     1 step            the root reads size × bytes
//   registered on all ranks   2 steps           every rank reads bytes, writes bytes / size to the root's array
//   registered on the root    1 for each piece  the same; unregistered ranks copy into staging
//   otherwise                 2 for each piece  the same, into staging; the root copies the result out
//
// No rank returns while others read its array.
void ShmCollectives::reduce(const Call& call, void* data) {
  if (size_ == 1) return;
  if (call.fingerprint.bytes() <= kEagerBytes) return reduceEagerly(call, data);
  reduceByShares(call, static_cast<std::uint8_t*>(data));
}

// The other ranks do not wait for the root: a payload is valid until all ranks arrive at the next operation.
void ShmCollectives::reduceEagerly(const Call& call, void* data) {
  const std::size_t bytes = call.fingerprint.bytes();
  arena_.post(call, {});
  std::memcpy(arena_.payloadOf(rank_, bytes), data, bytes);
  arena_.arrive(call);
  if (rank_ != static_cast<int>(call.fingerprint.root)) return;
  const Slices payloads = slicesOf(size_, [&](int rank) { return arena_.payloadOf(rank, bytes); });
  reduceSlices(call.fingerprint, payloads, &data, 1, call.fingerprint.count);
}

// Ranks with unregistered arrays copy them into staging piece by piece.
void ShmCollectives::reduceByShares(const Call& call, std::uint8_t* data) {
  const std::size_t bytes = call.fingerprint.bytes();
  const Placement placement = allocations_.placementOf(data, bytes);
  const auto stage = [&](std::size_t begin) {
    if (placement.isRegistered()) return;
    std::memcpy(arena_.stagingOf(rank_), data + begin, std::min(kPieceBytes, bytes - begin));
  };
  arena_.post(call, placement);
  stage(0);
  arena_.arrive(call);

  const std::size_t pieceBytes = ranksRegistered() == size_ ? bytes : kPieceBytes;
  for (std::size_t begin = 0; begin < bytes; begin += pieceBytes) {
    if (begin > 0) {
      stage(begin);
      arena_.step(call);
    }
    reducePiece(call, data, begin, std::min(pieceBytes, bytes - begin));
    arena_.nextStaging();
  }
  if (isRegistered(static_cast<int>(call.fingerprint.root))) arena_.step(call);
}

// If results are written to the root's array, the step after the next copy into staging also confirms that all
// ranks have reduced this piece. If they go to staging, they need a separate step, before which no half may
// be overwritten.
void ShmCollectives::reducePiece(const Call& call, std::uint8_t* data, std::size_t begin, std::size_t length) {
  const int root = static_cast<int>(call.fingerprint.root);
  if (isRegistered(root)) return reduceShare(call.fingerprint, begin, length, registeredArrayOf(root) + begin);
  reduceShare(call.fingerprint, begin, length, arena_.stagingOf(rank_));
  arena_.step(call);
  if (rank_ != root) return;
  const std::size_t count = length / bytesPerElement(call.fingerprint.dtype);
  for (int owner = 0; owner < size_; ++owner) collectShareOf(owner, call.fingerprint, count, data + begin);
}

// Reduces this rank's share of bytes [begin, begin + length) of every array into `piece`, at the same offset.
void ShmCollectives::reduceShare(const Fingerprint& fingerprint, std::size_t begin, std::size_t length,
                                 std::uint8_t* piece) const {
  const std::size_t elementBytes = bytesPerElement(fingerprint.dtype);
  const Range share = shareOf(rank_, fingerprint, length / elementBytes);
  const std::size_t offset = share.begin * elementBytes;
  const Slices slices = slicesOf(size_, [&](int rank) {
    return (isRegistered(rank) ? registeredArrayOf(rank) + begin : arena_.stagingOf(rank)) + offset;
  });
  void* const result = piece + offset;
  reduceSlices(fingerprint, slices, &result, 1, share.length());
}

}  // namespace ringrun
