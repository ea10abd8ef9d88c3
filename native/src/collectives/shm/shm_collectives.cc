#include "collectives/shm/shm_collectives.h"

namespace ringrun {

ShmCollectives::ShmCollectives(Connections& connections, const Call& call)
    : rank_(connections.rank()),
      size_(connections.size()),
      mesh_(connections.mesh()),
      arena_(mesh_, connections.directory().neighbours(), rank_, call),
      segments_(rank_) {}

void ShmCollectives::wakeNeighbours() noexcept { arena_.wakeEverybody(); }

void ShmCollectives::reduce(const Call&, void*) { throw Failure(FailureCode::System, {}, "to be written"); }
void ShmCollectives::reduceScatter(const Call&, const Blocks&, const Block&) { throw Failure(FailureCode::System, {}, "to be written"); }
void ShmCollectives::exchange(const Call&, const Exchange&) { throw Failure(FailureCode::System, {}, "to be written"); }

}  // namespace ringrun
