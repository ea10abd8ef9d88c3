#include "collectives/shm/shm_collectives.h"

#include <cstring>

namespace ringrun {

ShmCollectives::ShmCollectives(Connections& connections, const Call& call)
    : rank_(connections.topology().localRank(connections.rank())),
      size_(static_cast<int>(connections.directory().localRanks().size())),
      mesh_(connections.mesh()),
      arena_(mesh_, connections.directory().localRanks(), rank_, call),
      allocations_(rank_) {}

void ShmCollectives::wakeLocalRanks() noexcept { arena_.wakeRanks(); }

int ShmCollectives::ranksRegistered() const {
  int registered = 0;
  for (int rank = 0; rank < size_; ++rank) registered += isRegistered(rank) ? 1 : 0;
  return registered;
}

std::uint8_t* ShmCollectives::registeredArrayOf(int rank) const {
  return allocations_.locate(arena_.postOf(rank).placement, rank);
}

Range ShmCollectives::shareOf(int rank, const Fingerprint& fingerprint, std::size_t count) const {
  const std::size_t lineOfElements = kLineBytes / bytesPerElement(fingerprint.dtype);
  return splitEvenly(count, static_cast<std::size_t>(size_), static_cast<std::size_t>(rank), lineOfElements);
}

void ShmCollectives::collectShareOf(int owner, const Fingerprint& fingerprint, std::size_t count, std::uint8_t* piece) const {
  const std::size_t elementBytes = bytesPerElement(fingerprint.dtype);
  const Range share = shareOf(owner, fingerprint, count);
  const std::size_t offset = share.begin * elementBytes;
  std::memcpy(piece + offset, arena_.stagingOf(owner) + offset, share.length() * elementBytes);
}

}  // namespace ringrun
