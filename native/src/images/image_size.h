#pragma once

#include <cstddef>

namespace ringrun {

struct ImageSize {
  std::size_t channels, height, width;

  std::size_t plane() const { return height * width; }
  std::size_t elements() const { return channels * plane(); }
};

}  // namespace ringrun
