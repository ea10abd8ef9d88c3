#pragma once

#include <cstdint>
#include <vector>

namespace ringrun {

// Blocks one behind the other, as one run of bytes that is copied out in pieces.
class Stream {
 public:
  // Returns where the block begins. One that is the same as that before it, as allRanks's of an allGather is, is in
  // the stream already.
  std::uint64_t add(const void* data, std::uint64_t bytes);

  std::uint64_t bytes() const { return parts_.empty() ? 0 : parts_.back().end; }

  // Bytes [begin, begin + length), as far as the stream goes.
  void copy(std::uint64_t begin, std::uint64_t length, std::uint8_t* to) const;

 private:
  struct Part {
    const std::uint8_t* data;
    std::uint64_t begin;
    std::uint64_t end;
  };

  std::vector<Part> parts_;
};

}  // namespace ringrun
