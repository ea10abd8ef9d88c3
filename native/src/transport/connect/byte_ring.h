#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace ringrun {

// A queue of bytes in a ring that grows. Offsets count all bytes that were ever appended.
class ByteRing {
 public:
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }

  void append(const std::uint8_t* data, std::size_t bytes) {
    reserve(size() + bytes);
    while (bytes > 0) {
      const std::size_t at = indexOf(end_);
      const std::size_t copied = std::min(bytes, ring_.size() - at);
      std::memcpy(ring_.data() + at, data, copied);
      data += copied;
      bytes -= copied;
      end_ += copied;
    }
  }

  // So that append() does not move the present bytes until there are more than this number.
  void reserve(std::size_t bytes) {
    if (bytes <= ring_.size()) return;
    std::size_t larger = std::max(ring_.size(), kFirstBytes);
    while (larger < bytes) larger *= 2;
    std::vector<std::uint8_t> ring(larger);
    for (std::uint64_t offset = begin_; offset < end_;) {
      const iovec part = from(offset);
      const std::size_t at = static_cast<std::size_t>(offset) & (larger - 1);
      const std::size_t copied = std::min(part.iov_len, larger - at);
      std::memcpy(ring.data() + at, part.iov_base, copied);
      offset += copied;
    }
    ring_.swap(ring);
  }

  // Forgets the bytes before `offset`, which is between begin() and end().
  void dropUntil(std::uint64_t offset) { begin_ = offset; }

  // The bytes from `offset`, up to the end of the ring.
  iovec from(std::uint64_t offset) const {
    const std::size_t at = indexOf(offset);
    return {const_cast<std::uint8_t*>(ring_.data()) + at, std::min(ring_.size() - at, static_cast<std::size_t>(end_ - offset))};
  }

 private:
  static constexpr std::size_t kFirstBytes = 64 * 1024;

  std::size_t indexOf(std::uint64_t offset) const { return static_cast<std::size_t>(offset) & (ring_.size() - 1); }

  std::vector<std::uint8_t> ring_;  // its size is a power of two
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace ringrun
