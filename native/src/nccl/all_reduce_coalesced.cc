#include "collectives/agree_on_lengths.h"
#include "nccl/nccl_collectives.h"
#include "nccl/pieces.h"

namespace ringrun {
namespace {

std::uint64_t countOf(const Blocks& arrays) {
  std::uint64_t count = 0;
  for (const Block& array : arrays) count += array.count;
  return count;
}

// What of an array that begins at element `begin` of all arrays, one behind the other, is in the range `piece` of those.
Range partIn(const Range& piece, std::size_t begin, const Block& array) {
  const Range part = overlapOf(piece, {begin, begin + static_cast<std::size_t>(array.count)});
  return part.length() == 0 ? Range{} : Range{part.begin - begin, part.end - begin};
}

}  // namespace

void NcclCollectives::allReduceCoalesced(const Call& call, const Blocks& arrays) {
  if (!hasNcclReduceOp(call.fingerprint.reduceOp)) return beside_->allReduceCoalesced(call, arrays);
  agreeOnLengths(*beside_, call, arrays);
  if (countOf(arrays) == 0) return;
  onGpu([&] {
    if (!isOnDevice(call)) return allReduceInPieces(call, arrays);
    communicator_.together([&] {
      for (const Block& array : arrays) {
        if (array.count > 0) communicator_.allReduce(call, array.data, static_cast<std::size_t>(array.count));
      }
    });
    awaitStream(call);
  });
}

// On the GPU arrays of this host lie one behind the other, so that a piece is reduced as one, however many there are.
void NcclCollectives::allReduceInPieces(const Call& call, const Blocks& arrays) {
  const DType dtype = call.fingerprint.dtype;
  const auto count = static_cast<std::size_t>(countOf(arrays));
  const std::size_t most = pieceElements(dtype, 1);
  staging_.carryOut(call, segmentsIn(count, most), [&](std::size_t index) {
    Piece piece;
    PieceBuilder builder(piece, dtype);
    const Range whole = segmentOf({0, count}, most, index);
    std::size_t begin = 0;
    for (const Block& array : arrays) {
      const Range part = partIn(whole, begin, array);
      if (part.length() > 0) {
        const std::size_t at = (begin + part.begin - whole.begin) * bytesPerElement(dtype);
        builder.giveAt(at, array, part);
        builder.takeAt(at, array, part);
      }
      begin += static_cast<std::size_t>(array.count);
    }
    piece.operate = [this, &call, whole](std::uint8_t* data) { communicator_.allReduce(call, data, whole.length()); };
    return piece;
  });
}

}  // namespace ringrun
