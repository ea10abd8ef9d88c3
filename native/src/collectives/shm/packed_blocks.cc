#include "collectives/shm/packed_blocks.h"

#include <cstring>

#include "collectives/split.h"

namespace ringrun {

std::uint64_t PackedBlocks::add(const void* data, std::uint64_t bytes) {
  const auto* const first = static_cast<const std::uint8_t*>(data);
  if (!parts_.empty()) {
    const Part& last = parts_.back();
    if (last.data == first && last.end - last.begin == bytes) return last.begin;
  }
  const std::uint64_t begin = this->bytes();
  parts_.push_back({first, begin, begin + bytes});
  return begin;
}

void PackedBlocks::copy(std::uint64_t begin, std::uint64_t length, std::uint8_t* to) const {
  for (const Part& part : parts_) {
    const Range wanted = overlapOf({part.begin, part.end}, {begin, begin + length});
    if (wanted.length() == 0) continue;
    std::memcpy(to + wanted.begin - begin, part.data + wanted.begin - part.begin, wanted.length());
  }
}

}  // namespace ringrun
