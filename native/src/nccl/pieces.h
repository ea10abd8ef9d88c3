#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/operation.h"
#include "collectives/blocks.h"
#include "collectives/split.h"
#include "nccl/staging.h"

namespace ringrun {

// Bytes of a piece: long enough that launching its copies and its operation (some 20 µs) costs little beside carrying it
// out (4 MiB at 20 GB/s: 200 µs), short enough that pieces overlap in buckets of 25 MiB.
constexpr std::size_t kPieceBytes = 4 * 1024 * 1024;

// Of each rank's share of a piece.
constexpr std::size_t kMinShareBytes = 64 * 1024;

// Elements of a piece in each of `shares` arrays, which the ranks' arrays are cut into.
inline std::size_t pieceElements(DType dtype, std::size_t shares) {
  return std::max(kPieceBytes / shares, kMinShareBytes) / bytesPerElement(dtype);
}

// Puts parts of host arrays one behind the other into a piece; each begins where GPUs like to read (16 bytes).
class PieceBuilder {
 public:
  PieceBuilder(Piece& piece, DType dtype) : piece_(piece), elementBytes_(bytesPerElement(dtype)) {}

  // Elements `range` of `block`; where they lie in the piece.
  std::size_t give(const Block& block, const Range& range) {
    const std::size_t at = place(range);
    if (range.length() > 0) piece_.in.push_back(partOf(block, range, at));
    return at;
  }
  std::size_t take(const Block& block, const Range& range) {
    const std::size_t at = place(range);
    if (range.length() > 0) piece_.out.push_back(partOf(block, range, at));
    return at;
  }

  // Without a gap before it.
  void giveAt(std::size_t at, const Block& block, const Range& range) {
    piece_.in.push_back(partOf(block, range, at));
    piece_.bytes = std::max(piece_.bytes, at + range.length() * elementBytes_);
  }
  void takeAt(std::size_t at, const Block& block, const Range& range) {
    piece_.out.push_back(partOf(block, range, at));
    piece_.bytes = std::max(piece_.bytes, at + range.length() * elementBytes_);
  }

 private:
  static constexpr std::size_t kAlignment = 16;

  std::size_t place(const Range& range) {
    const std::size_t at = (piece_.bytes + kAlignment - 1) / kAlignment * kAlignment;
    piece_.bytes = at + range.length() * elementBytes_;
    return at;
  }

  HostPart partOf(const Block& block, const Range& range, std::size_t at) const {
    return {static_cast<std::uint8_t*>(block.data) + range.begin * elementBytes_, range.length() * elementBytes_, at};
  }

  Piece& piece_;
  std::size_t elementBytes_;
};

// The range of a block that is in piece `index`; empty beyond its end.
inline Range inPiece(const Block& block, std::size_t most, std::size_t index) {
  return segmentOf({0, static_cast<std::size_t>(block.count)}, most, index);
}

inline std::size_t longestOf(const Blocks& blocks) {
  std::size_t longest = 0;
  for (const Block& block : blocks) longest = std::max(longest, static_cast<std::size_t>(block.count));
  return longest;
}

}  // namespace ringrun
