#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
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
    return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes + kGapBytes;
  }

  SharedAllocation(std::shared_ptr<const Mapping> memory, std::size_t stride) : memory_(std::move(memory)), stride_(stride) {}

  // Unused bytes after the slice of the rank at `place`.
  std::uint8_t* gap(int place) const { return slice(place) + stride_ - kGapBytes; }
  static constexpr std::size_t kGapBytes = 17 * kLineBytes;

  // True if no array and no operation of this process uses the memory.
  bool isDropped() const { return memory_.use_count() == 1; }

  // The slice of the rank at `place` on this host.
  std::uint8_t* slice(int place) const { return memory_->data() + static_cast<std::size_t>(place) * stride_; }
  std::size_t stride() const { return stride_; }
  const std::shared_ptr<const Mapping>& memory() const { return memory_; }

 private:
  std::shared_ptr<const Mapping> memory_;
  std::size_t stride_;
};

// All shared allocations of a group. Numbers start at 1 and are equal on all ranks, because allocation and release are
// collectives.
class SharedAllocations {
 public:
  explicit SharedAllocations(int place) : place_(place) {}

  // Marks the allocations that this rank has dropped, in its gap of a new allocation.
  void markDropped(const SharedAllocation& in) const {
    std::uint8_t* const marks = in.gap(place_);
    for (std::size_t i = 0; i < marked(); ++i) marks[i] = allocations_[i].isDropped() ? 1 : 0;
  }

  // Frees allocations that all ranks have marked. A rank may read the other ranks' slices as long as any of them uses its own.
  void releaseMarked(const SharedAllocation& in, int ranks) {
    std::size_t kept = 0;
    const std::size_t count = marked();
    for (std::size_t i = 0; i < allocations_.size(); ++i) {
      bool isDropped = i < count;
      for (int rank = 0; rank < ranks && isDropped; ++rank) isDropped = in.gap(rank)[i] != 0;
      if (!isDropped) std::swap(allocations_[kept++], allocations_[i]);
    }
    allocations_.erase(allocations_.begin() + static_cast<std::ptrdiff_t>(kept), allocations_.end());
  }

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
  // The first allocation; later ones become the first when earlier ones are freed.
  std::size_t marked() const { return std::min(allocations_.size(), SharedAllocation::kGapBytes); }

  int place_;
  std::vector<SharedAllocation> allocations_;
};

}  // namespace ringrun
