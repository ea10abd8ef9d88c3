#include "transport/connections.h"

#include <optional>
#include <utility>

namespace ringrun {

Connections::Connections(Directory directory, Acceptor acceptor, const Call& call)
    : directory_(std::move(directory)),
      acceptor_(std::move(acceptor)),
      mesh_(directory_),
      messenger_(directory_, acceptor_, mesh_) {
  // Not in a catch block: withAllGone() may sleep, and a task must not sleep while it handles an exception (base/fiber.h).
  const std::optional<Failure> failure = failureOf([&] { mesh_.connect(acceptor_, call); });
  if (!failure) return;
  if (failure->code == FailureCode::PeerDied) mesh_.settle();
  const Failure whole = mesh_.withAllGone(*failure);
  mesh_.abort(whole, call.fingerprint.sequence);
  throw whole;
}

}  // namespace ringrun
