#include "transport/connect/kept_bytes.h"

#include <algorithm>
#include <utility>

namespace ringrun {
namespace {

// Copying fewer bytes takes less time than a piece of its own.
constexpr std::size_t kLeastLent = 4 * 1024;

}  // namespace

void KeptBytes::append(const iovec* parts, std::size_t bytes, const LentBytes& lent) {
  for (; bytes > 0; ++parts) {
    const auto* const data = static_cast<const std::uint8_t*>(parts->iov_base);
    const std::size_t part = std::min(bytes, parts->iov_len);
    if (part >= kLeastLent && lent.includes(data)) {
      addLent(data, part);
    } else if (part > 0) {
      addCopied(data, part);
    }
    bytes -= part;
  }
}

void KeptBytes::addCopied(const std::uint8_t* data, std::size_t bytes) {
  const std::uint64_t copied = copies_.end();
  copies_.append(data, bytes);
  end_ += bytes;
  if (!pieces_.empty() && pieces_.back().lent == nullptr) {
    pieces_.back().end = end_;
  } else {
    pieces_.push_back({end_, nullptr, copied});
  }
}

void KeptBytes::addLent(const std::uint8_t* data, std::size_t bytes) {
  end_ += bytes;
  pieces_.push_back({end_, data, 0});
  ++lentPieces_;
}

void KeptBytes::dropUntil(std::uint64_t offset) {
  while (begin_ < offset) {
    Piece& first = pieces_.front();
    const std::uint64_t dropped = std::min(first.end, offset) - begin_;
    begin_ += dropped;
    if (first.lent == nullptr) {
      first.copied += dropped;
      copies_.dropUntil(first.copied);
    } else {
      first.lent += dropped;
    }
    if (begin_ < first.end) return;
    lentPieces_ -= first.lent != nullptr ? 1 : 0;
    pieces_.pop_front();
  }
}

iovec KeptBytes::from(std::uint64_t offset) const {
  std::uint64_t pieceBegin = begin_;
  auto piece = pieces_.begin();
  while (piece->end <= offset) pieceBegin = (piece++)->end;
  const std::uint64_t within = offset - pieceBegin;
  const auto left = static_cast<std::size_t>(piece->end - offset);
  if (piece->lent != nullptr) return {const_cast<std::uint8_t*>(piece->lent + within), left};
  const iovec copies = copies_.from(piece->copied + within);
  return {copies.iov_base, std::min(copies.iov_len, left)};
}

bool KeptBytes::refersTo(const LentBytes& memory) const {
  std::uint64_t pieceBegin = begin_;
  return std::any_of(pieces_.begin(), pieces_.end(), [&](const Piece& piece) {
    const auto bytes = static_cast<std::size_t>(piece.end - std::exchange(pieceBegin, piece.end));
    return piece.lent != nullptr && memory.overlaps({piece.lent, bytes});
  });
}

// The ring keeps the order of the stream, so the present copies move behind their predecessors.
void KeptBytes::copyLent() {
  if (!hasLent()) return;
  copies_.reserve(copies_.size() + size());
  const std::uint64_t copied = copies_.end();
  for (std::uint64_t offset = begin_; offset < end_;) {
    const iovec part = from(offset);
    copies_.append(static_cast<const std::uint8_t*>(part.iov_base), part.iov_len);
    offset += part.iov_len;
  }
  copies_.dropUntil(copied);
  pieces_.assign(1, {end_, nullptr, copied});
  lentPieces_ = 0;
}

}  // namespace ringrun
