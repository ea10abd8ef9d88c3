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

// The part of an array in the range `piece` of all arrays concatenated; the array begins at element `begin`.
Range partIn(const Range& piece, std::size_t begin, const Block& array) {
  const Range part = overlapOf(piece, {begin, begin + static_cast<std::size_t>(array.count)});
  return part.length() == 0 ? Range{} : Range{part.begin - begin, part.end - begin};
}

}  // namespace

void NcclCollectives::allReduceCoalesced(const Call& call, const Blocks& arrays) {
  if (!hasNcclReduceOp(call.fingerprint.reduceOp)) return cpu_->allReduceCoalesced(call, arrays);
  agreeOnLengths(*cpu_, call, arrays);
  if (countOf(arrays) == 0) return;
  onGpu([&] {
    if (!isOnDevice(call)) return allReduceInPieces(call, arrays);
    communicator_.fuse([&] {
      for (const Block& array : arrays) {
        if (array.count > 0) communicator_.allReduce(call, array.data, static_cast<std::size_t>(array.count));
      }
    });
    awaitStream(call);
  });
}

// Host arrays are concatenated on the GPU, so that each piece is one reduction.
void NcclCollectives::allReduceInPieces(const Call& call, const Blocks& arrays) {
  const DType dtype = call.fingerprint.dtype;
  const auto count = static_cast<std::size_t>(countOf(arrays));
  const std::size_t most = pieceElements(dtype, 1);
  staging_.run(call, segmentsIn(count, most), [&](std::size_t index) {
    Piece piece;
    PieceBuilder builder(piece, dtype);
    const Range whole = segmentOf({0, count}, most, index);
    std::size_t begin = 0;
    for (const Block& array : arrays) {
      const Range part = partIn(whole, begin, array);
      if (part.length() > 0) {
        const std::size_t at = (begin + part.begin - whole.begin) * bytesPerElement(dtype);
        builder.addInputAt(at, array, part);
        builder.addOutputAt(at, array, part);
      }
      begin += static_cast<std::size_t>(array.count);
    }
    piece.operate = [this, &call, whole](std::uint8_t* data) { communicator_.allReduce(call, data, whole.length()); };
    return piece;
  });
}

}  // namespace ringrun
