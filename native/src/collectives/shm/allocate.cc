#include <algorithm>
#include <utility>
#include <vector>

#include "collectives/shm/shm_collectives.h"
#include "transport/shm/shared_memory.h"

namespace ringrun {

// Every rank touches its own slice first, which places the pages near its processor, and then maps the slices
// of the others.
Allocation ShmCollectives::allocate(const Call& call) {
  arena_.post(call, {});
  arena_.arrive(call);
  const std::size_t stride = SharedAllocation::strideFor(call.fingerprint.bytes());
  const std::size_t bytes = stride * static_cast<std::size_t>(size_);
  auto memory = std::make_shared<const Mapping>(shareMemory(mesh_, arena_.team(), arena_.team()[static_cast<std::size_t>(rank_)], bytes, call));
  memory->populate(stride * static_cast<std::size_t>(rank_), stride);
  SharedAllocation shared(memory, stride);
  allocations_.markDropped(shared);
  arena_.step(call);
  memory->populate(0, bytes);
  allocations_.releaseMarked(shared, size_);
  arena_.step(call);

  Allocation allocation{shared.slice(rank_), memory};
  allocations_.add(std::move(shared));
  return allocation;
}

std::vector<Allocation> ShmCollectives::memoryOfRanks(const void* data, std::size_t bytes) {
  const Placement placement = allocations_.placementOf(data, bytes);
  std::vector<Allocation> slices;
  if (!placement.isRegistered()) return slices;
  for (int rank = 0; rank < size_; ++rank) slices.push_back({allocations_.locate(placement, rank), allocations_.ownerOf(placement)});
  return slices;
}

// Pages are placed near the processor of the rank that touches them first.
HostAllocation ShmCollectives::allocateForHost(const Call& call) {
  arena_.post(call, {});
  arena_.arrive(call);
  const std::size_t bytes = std::max<std::size_t>(call.fingerprint.bytes(), 1);
  auto memory = std::make_shared<const Mapping>(shareMemory(mesh_, arena_.team(), arena_.team()[static_cast<std::size_t>(rank_)], bytes, call));
  arena_.step(call);
  return {{memory->data(), memory}, rank_, size_};
}

}  // namespace ringrun
