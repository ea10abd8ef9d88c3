#pragma once

#include <optional>

#include "base/operation.h"
#include "transport/connect/acceptor.h"
#include "transport/connect/directory.h"
#include "transport/control/mesh.h"
#include "transport/relay/service.h"
#include "transport/tcp/messenger.h"

namespace ringrun {

// The connections of this rank to the others of its group. Must outlive everything that uses them.
class Connections {
 public:
  // A collective: returns when all ranks are connected. `relayAcceptor`: of connections that this rank forwards between
  // others. Throws Failure.
  Connections(Directory directory, Acceptor acceptor, const Call& call, std::optional<Acceptor> relayAcceptor = std::nullopt);
  Connections(const Connections&) = delete;
  Connections& operator=(const Connections&) = delete;

  const Directory& directory() const { return directory_; }
  const Topology& topology() const { return directory_.topology(); }
  int rank() const { return directory_.rank(); }
  int size() const { return directory_.size(); }

  Acceptor& acceptor() { return acceptor_; }
  ControlMesh& mesh() { return mesh_; }
  const ControlMesh& mesh() const { return mesh_; }
  Messenger& messenger() { return messenger_; }

 private:
  // Ends last: connections of this rank need not wait for those of others.
  std::optional<RelayService> relays_;
  Directory directory_;
  // Listens while the group exists, so that connecting peers can distinguish a slow rank from a dead one.
  Acceptor acceptor_;
  ControlMesh mesh_;
  Messenger messenger_;
};

}  // namespace ringrun
