#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <deque>

#include "transport/connect/byte_ring.h"

namespace ringrun {

// Memory of a sender, whose bytes do not change until KeptBytes::copyLent(): they need not be copied before.
struct LentBytes {
  const std::uint8_t* data = nullptr;
  std::size_t bytes = 0;

  bool includes(const void* address) const {
    const auto* const one = static_cast<const std::uint8_t*>(address);
    return data <= one && one < data + bytes;
  }
  bool overlaps(const LentBytes& other) const { return data < other.data + other.bytes && other.data < data + bytes; }
};

// The last bytes of a stream: copies, and references to memory that their sender lends. Offsets count all bytes of the
// stream.
class KeptBytes {
 public:
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }

  // Appends the first `bytes` of `parts`. Copies all parts except long ones that begin in `lent`.
  void append(const iovec* parts, std::size_t bytes, const LentBytes& lent = {});

  // Forgets the bytes before `offset`, which is between begin() and end().
  void dropUntil(std::uint64_t offset);

  // The bytes from `offset` < end(), as many as lie together.
  iovec from(std::uint64_t offset) const;

  bool hasLent() const { return lentPieces_ > 0; }
  bool refersTo(const LentBytes& memory) const;

  // Copies all lent bytes.
  void copyLent();

 private:
  struct Piece {
    std::uint64_t end;           // offset in the stream
    const std::uint8_t* lent;    // null: a copy
    std::uint64_t copied;        // offset in copies_
  };

  void addCopied(const std::uint8_t* data, std::size_t bytes);
  void addLent(const std::uint8_t* data, std::size_t bytes);

  std::deque<Piece> pieces_;  // the first one begins at begin_
  ByteRing copies_;
  std::size_t lentPieces_ = 0;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace ringrun
