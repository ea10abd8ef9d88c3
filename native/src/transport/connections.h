#pragma once

#include "base/operation.h"
#include "transport/connect/acceptor.h"
#include "transport/connect/directory.h"
#include "transport/control/mesh.h"
#include "transport/tcp/messenger.h"

namespace ringrun {

// What connects this rank to the others of its group. It outlives whatever runs over it.
class Connections {
 public:
  // A collective: returns when every rank is connected. Throws Failure.
  Connections(Directory directory, Acceptor acceptor, const Call& call);
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
  Directory directory_;
  // Listens for as long as the group lives: that is how peers tell "slow" from "gone" while they connect.
  Acceptor acceptor_;
  ControlMesh mesh_;
  Messenger messenger_;
};

}  // namespace ringrun
