#include "collectives/tcp/tcp_collectives.h"

#include <utility>

namespace ringrun {

TcpCollectives::TcpCollectives(int rank, int size, const std::vector<Endpoint>& endpoints, Acceptor acceptor, const Call& call)
    : rank_(rank),
      size_(size),
      acceptor_(std::move(acceptor)),
      mesh_(rank, size),
      messenger_(rank, size, endpoints, acceptor_, mesh_) {
  try {
    mesh_.connect(acceptor_, endpoints, call);
  } catch (const Failure& failure) {
    mesh_.abort(failure, call.fingerprint.sequence);
    throw;
  }
}

std::uint8_t* TcpCollectives::scratch(std::size_t bytes) {
  if (scratch_.size() < bytes) scratch_.resize(bytes);
  return scratch_.data();
}

// The reason first: a peer that sees its data end looks for it.
void TcpCollectives::abort(const Failure& failure, const Call& call) noexcept {
  mesh_.abort(failure, call.fingerprint.sequence);
  messenger_.closeAll();
}

void TcpCollectives::leave() noexcept {
  mesh_.leave();
  messenger_.closeAll();
}

}  // namespace ringrun
