#include "transport/connections.h"

#include <optional>
#include <utility>

namespace ringrun {

Connections::Connections(Directory directory, Acceptor acceptor, const Call& call, std::optional<Acceptor> relayAcceptor)
    : directory_(std::move(directory)),
      acceptor_(std::move(acceptor)),
      mesh_(directory_),
      messenger_(directory_, acceptor_, mesh_) {
  if (relayAcceptor) relays_.emplace(std::move(*relayAcceptor), directory_.endpoints(), directory_.silentPeerTimeout());
  acceptor_.setDetours(directory_.sharedDetours());
  // Not in a catch block: withAllGone() may sleep, and a task must not sleep while it handles an exception (base/fiber.h).
  const std::optional<Failure> failure = failureOf([&] { mesh_.connect(acceptor_, call); });
  if (!failure) return;
  if (failure->code == FailureCode::PeerDied) mesh_.settle();
  const Failure whole = mesh_.withAllGone(*failure);
  mesh_.abort(whole, call.fingerprint.sequence);
  throw whole;
}

}  // namespace ringrun
