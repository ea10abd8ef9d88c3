#pragma once

#include <cstdint>
#include <vector>

namespace ringrun {

// Blocks as one contiguous byte range, from which pieces are copied.
class PackedBlocks {
 public:
  // Returns the offset of the block. A block equal to the previous one, as in an allGather, is added once.
  std::uint64_t add(const void* data, std::uint64_t bytes);

  std::uint64_t bytes() const { return parts_.empty() ? 0 : parts_.back().end; }

  // Copies bytes [begin, begin + length), as far as they exist.
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
