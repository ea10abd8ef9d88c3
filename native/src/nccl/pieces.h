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

// Bytes of a piece: long enough that launching its copies and its operation (about 20 µs) costs little compared
// to running them (4 MiB at 20 GB/s: 200 µs), short enough that pieces overlap in buckets of 25 MiB.
constexpr std::size_t kGpuPieceBytes = 4 * 1024 * 1024;

// Minimum bytes of each rank's share of a piece.
constexpr std::size_t kMinShareBytes = 64 * 1024;

// Elements of a piece if the ranks' arrays are divided into `shares` arrays.
inline std::size_t pieceElements(DType dtype, std::size_t shares) {
  return std::max(kGpuPieceBytes / shares, kMinShareBytes) / bytesPerElement(dtype);
}

// Places parts of host arrays in a piece, each aligned to 16 bytes for the GPU.
class PieceBuilder {
 public:
  PieceBuilder(Piece& piece, DType dtype) : piece_(piece), elementBytes_(bytesPerElement(dtype)) {}

  // Adds elements `range` of `block` and returns their offset in the piece.
  std::size_t addInput(const Block& block, const Range& range) {
    const std::size_t at = reserve(range);
    if (range.length() > 0) piece_.in.push_back(partOf(block, range, at));
    return at;
  }
  std::size_t addOutput(const Block& block, const Range& range) {
    const std::size_t at = reserve(range);
    if (range.length() > 0) piece_.out.push_back(partOf(block, range, at));
    return at;
  }

  // The same at a fixed offset.
  void addInputAt(std::size_t at, const Block& block, const Range& range) {
    piece_.in.push_back(partOf(block, range, at));
    piece_.bytes = std::max(piece_.bytes, at + range.length() * elementBytes_);
  }
  void addOutputAt(std::size_t at, const Block& block, const Range& range) {
    piece_.out.push_back(partOf(block, range, at));
    piece_.bytes = std::max(piece_.bytes, at + range.length() * elementBytes_);
  }

 private:
  static constexpr std::size_t kAlignment = 16;

  std::size_t reserve(const Range& range) {
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

// The range of a block in piece `index`; empty beyond its end.
inline Range inPiece(const Block& block, std::size_t most, std::size_t index) {
  return segmentOf({0, static_cast<std::size_t>(block.count)}, most, index);
}

inline std::size_t longestOf(const Blocks& blocks) {
  std::size_t longest = 0;
  for (const Block& block : blocks) longest = std::max(longest, static_cast<std::size_t>(block.count));
  return longest;
}

}  // namespace ringrun
