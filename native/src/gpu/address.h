#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringrun {

// A place in the memory of a program: in its arena, or in the buffer of a slot.
struct GpuAddress {
  static constexpr int kArena = -1;

  int slot = kArena;
  std::size_t offset = 0;  // bytes
};

class GpuExchanges;

// Where the memory of a program is in one run.
struct GpuPlaces {
  std::uint8_t* arena = nullptr;
  std::vector<std::uint8_t*> slots;
  std::uint8_t* workspace = nullptr;
  std::size_t workspaceBytes = 0;
  GpuExchanges* exchanges = nullptr;  // of this run, if it has any

  std::uint8_t* at(const GpuAddress& address) const {
    return (address.slot == GpuAddress::kArena ? arena : slots[static_cast<std::size_t>(address.slot)]) + address.offset;
  }
};

}  // namespace ringrun
