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
    mesh_.abort(failure, call.fingerprint.sequence);
    throw;
  }
}

}  // namespace ringrun
