#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace ringrun {

// The last bytes of a stream, in a ring that grows. Offsets count all bytes of the stream.
class KeptBytes {
 public:
  std::uint64_t begin() const { return begin_; }
  std::uint64_t end() const { return end_; }
  std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }

  // Appends the first `bytes` of `parts`.
  void append(const iovec* parts, std::size_t bytes) {
    reserve(size() + bytes);
    for (; bytes > 0; ++parts) {
      const std::size_t part = std::min(bytes, parts->iov_len);
      append(static_cast<const std::uint8_t*>(parts->iov_base), part);
      bytes -= part;
    }
  }

  // Forgets the bytes before `offset`, which is between begin() and end().
  void dropUntil(std::uint64_t offset) { begin_ = offset; }

  // The bytes from `offset`, up to the end of the ring.
  iovec from(std::uint64_t offset) {
    const std::size_t at = indexOf(offset);
    return {ring_.data() + at, std::min(ring_.size() - at, static_cast<std::size_t>(end_ - offset))};
  }

 private:
  static constexpr std::size_t kFirstBytes = 64 * 1024;

  std::size_t indexOf(std::uint64_t offset) const { return static_cast<std::size_t>(offset) & (ring_.size() - 1); }

  // The size of the ring is a power of two.
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

  void append(const std::uint8_t* data, std::size_t bytes) {
    while (bytes > 0) {
      const std::size_t at = indexOf(end_);
      const std::size_t copied = std::min(bytes, ring_.size() - at);
      std::memcpy(ring_.data() + at, data, copied);
      data += copied;
      bytes -= copied;
      end_ += copied;
    }
  }

  std::vector<std::uint8_t> ring_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace ringrun
