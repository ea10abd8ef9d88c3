#include <algorithm>
#include <cstring>

#include "collectives/shm/shm_collectives.h"

namespace ringrun {

// Chosen by the location of the root's array:
//
//   small              1 step            every rank reads bytes
//   registered memory  2 steps           every rank reads from the root's slice
//   otherwise          1 for each piece  the root copies into staging, every rank reads from it
void ShmCollectives::broadcast(const Call& call, void* data) {
  broadcastFrom(static_cast<int>(call.fingerprint.root), call, data);
}

void ShmCollectives::broadcastFrom(int root, const Call& call, void* data) {
  const std::size_t bytes = call.fingerprint.bytes();
  const bool isRoot = rank_ == root;
  if (size_ == 1) return;
  auto* const values = static_cast<std::uint8_t*>(data);

  if (bytes <= kEagerBytes) {
    arena_.post(call, {});
    if (isRoot) std::memcpy(arena_.payloadOf(rank_, bytes), values, bytes);
    arena_.arrive(call);
    if (!isRoot) std::memcpy(values, arena_.payloadOf(root, bytes), bytes);
    return;
  }

  const Placement mine = isRoot ? allocations_.placementOf(data, bytes) : Placement{};
  if (isRoot && mine.allocation == 0) std::memcpy(arena_.stagingOf(rank_), values, std::min(bytes, kPieceBytes));
  arena_.post(call, mine);
  arena_.arrive(call);
  const Placement source = arena_.postOf(root).placement;
  if (source.allocation != 0) {
    if (!isRoot) std::memcpy(values, allocations_.locate(source, root), bytes);
    return arena_.step(call);
  }
  for (std::size_t begin = 0; begin < bytes; begin += kPieceBytes) {
    const std::size_t length = std::min(kPieceBytes, bytes - begin);
    if (begin > 0) {
      if (isRoot) std::memcpy(arena_.stagingOf(rank_), values + begin, length);
      arena_.step(call);
    }
    if (!isRoot) std::memcpy(values + begin, arena_.stagingOf(root), length);
    arena_.nextStaging();
  }
}

}  // namespace ringrun
