#include "collectives/shm/shm_collectives.h"

#include <utility>

namespace ringrun {

ShmCollectives::ShmCollectives(int rank, int size, const std::vector<Endpoint>& endpoints, Acceptor acceptor, const Call& call)
    : rank_(rank), size_(size), acceptor_(std::move(acceptor)), mesh_(rank, size), segments_(rank) {
  try {
    mesh_.connect(acceptor_, endpoints, call);
    arena_ = std::make_unique<Arena>(mesh_, rank, size, call);
  } catch (const Failure& failure) {
    mesh_.abort(failure, call.fingerprint.sequence);
    throw;
  }
}

void ShmCollectives::abort(const Failure& failure, const Call& call) noexcept {
  mesh_.abort(failure, call.fingerprint.sequence);
  arena_->wakeEverybody();
}

void ShmCollectives::leave() noexcept { mesh_.leave(); }

}  // namespace ringrun
