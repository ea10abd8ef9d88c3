#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mapping.h"
#include "transport/shm/layout.h"

namespace ringrun {

// The memory of one allocateSync: a slice for each rank of the host, all mapped by all ranks.
class SharedAllocation {
 public:
  // Slices begin at cache lines. The gap between them is an odd number of lines, so that the same element of
  // several slices does not map to the same set of the caches.
  static std::size_t strideFor(std::size_t bytes) {
    return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes + kGapLines * kLineBytes;
  }

  SharedAllocation(std::shared_ptr<const Mapping> memory, std::size_t stride) : memory_(std::move(memory)), stride_(stride) {}

  // The slice of the rank at `place` on this host.
  std::uint8_t* slice(int place) const { return memory_->data() + static_cast<std::size_t>(place) * stride_; }
  std::size_t stride() const { return stride_; }
  const std::shared_ptr<const Mapping>& memory() const { return memory_; }

 private:
  static constexpr std::size_t kGapLines = 17;

  std::shared_ptr<const Mapping> memory_;
  std::size_t stride_;
};

// All shared allocations of a group. Numbers begin at 1 and are equal on all ranks, because allocation is a collective.
class SharedAllocations {
 public:
  explicit SharedAllocations(int place) : place_(place) {}

  void add(SharedAllocation allocation) { allocations_.push_back(std::move(allocation)); }

  // The location of [data, data + bytes) if it lies in this rank's slice of an allocation; else unregistered.
  Placement placementOf(const void* data, std::size_t bytes) const {
    const auto at = reinterpret_cast<std::uintptr_t>(data);
    for (std::size_t i = 0; i < allocations_.size(); ++i) {
      const auto begin = reinterpret_cast<std::uintptr_t>(allocations_[i].slice(place_));
      if (at < begin || at + bytes > begin + allocations_[i].stride()) continue;
      Placement placement;
      placement.offset = at - begin;
      placement.allocation = static_cast<std::uint32_t>(i + 1);
      return placement;
    }
    return {};
  }

  // The same location in the slice of the rank at `place`.
  std::uint8_t* locate(const Placement& placement, int place) const {
    return allocations_[placement.allocation - 1].slice(place) + placement.offset;
  }

  const std::shared_ptr<const Mapping>& ownerOf(const Placement& placement) const {
    return allocations_[placement.allocation - 1].memory();
  }

 private:
  int place_;
  std::vector<SharedAllocation> allocations_;
};

}  // namespace ringrun
