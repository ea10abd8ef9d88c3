#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringrun {

// Memory to work in, kept from one operation to the next: fresh pages cost more than what is done in them.
class Buffer {
 public:
  // `bytes` with unknown contents, until the next call.
  std::uint8_t* of(std::size_t bytes) {
    const std::size_t atLeast = std::max<std::size_t>(bytes, 1);
    if (memory_.size() < atLeast) {
      memory_ = {};  // first, so that there are never two
      memory_.resize(atLeast);
    }
    return memory_.data();
  }

 private:
  std::vector<std::uint8_t> memory_;
};

}  // namespace ringrun
