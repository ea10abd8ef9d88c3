#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringrun {

// Scratch memory, kept between operations because page faults on new pages cost more than the work on them.
class Buffer {
 public:
  // Returns `bytes` of undefined contents, valid until the next call.
  std::uint8_t* of(std::size_t bytes) {
    const std::size_t atLeast = std::max<std::size_t>(bytes, 1);
    if (memory_.size() < atLeast) {
      memory_ = {};  // first, so that only one buffer exists at a time
      memory_.resize(atLeast);
    }
    return memory_.data();
  }

 private:
  std::vector<std::uint8_t> memory_;
};

}  // namespace ringrun
