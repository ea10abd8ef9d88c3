#include "transport/connections.h"

#include <utility>

namespace ringrun {

Connections::Connections(Directory directory, Acceptor acceptor, const Call& call)
    : directory_(std::move(directory)),
      acceptor_(std::move(acceptor)),
      mesh_(directory_),
      messenger_(directory_, acceptor_, mesh_) {
  try {
    mesh_.connect(acceptor_, call);
  } catch (const Failure& failure) {
    abort(failure, call.fingerprint.sequence);
    throw;
  }
}

// The reason first: a peer that sees its data end looks for it.
void Connections::abort(const Failure& failure, std::uint64_t sequence) noexcept {
  mesh_.abort(failure, sequence);
  messenger_.closeAll();
}

void Connections::leave() noexcept {
  mesh_.leave();
  messenger_.closeAll();
}

}  // namespace ringrun
