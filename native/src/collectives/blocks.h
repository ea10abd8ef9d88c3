#pragma once

#include <cstdint>
#include <vector>

namespace ringrun {

// Elements that one rank sends to, or receives from, another. `data` is null if and only if `count` is 0.
struct Block {
  void* data = nullptr;
  std::uint64_t count = 0;
};

// One block for each rank.
using Blocks = std::vector<Block>;

// One rank's side of an exchange. Blocks to send may overlap one another (allGather sends one block to all
// ranks). The block that a rank sends to itself may be the block that it receives from itself.
struct Exchange {
  Blocks sends;
  Blocks receives;
};

}  // namespace ringrun
