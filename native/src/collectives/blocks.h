#pragma once

#include <cstdint>
#include <vector>

namespace ringrun {

// Elements that one rank gives to, or takes from, another. `data` is null exactly where `count` is 0.
struct Block {
  void* data = nullptr;
  std::uint64_t count = 0;
};

// One for each rank.
using Blocks = std::vector<Block>;

// What a rank's part of a movement of data is. Blocks that are given may overlap one another (allGather gives one to
// allRanks); the block that a rank gives itself may be the one that it takes from itself.
struct Exchange {
  Blocks gives;
  Blocks takes;
};

}  // namespace ringrun
