#pragma once

#include <poll.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/failure.h"
#include "transport/connect/detours.h"
#include "transport/connect/dial.h"
#include "transport/connect/directory.h"
#include "transport/connect/relay_request.h"

namespace ringrun {

// Asks relays whether a rank still listens. A rank that waits for another one to resume a connection does so, because that one
// may compute for long before it sees that the connection is cut. Never blocks.
class RelayedProbe {
 public:
  // `directory` must outlive this object.
  RelayedProbe(const Directory& directory, int peer) : directory_(directory), peer_(peer) {}

  // Throws Failure: PeerDied if the peer refuses connections.
  void advance();

  // True if the peer accepted a connection a moment ago.
  bool isAccepted() const;

  const std::map<int, std::string>& problems() const { return problems_; }
  void addInterest(std::vector<pollfd>& interests) const;

 private:
  const Directory& directory_;
  int peer_;
  std::size_t place_ = 0;  // of the relay
  std::optional<RelayRequest> request_;
  Clock::time_point next_{};
  std::optional<Clock::time_point> acceptedAt_;
  std::map<int, std::string> problems_;  // by relay
};

// Resumes the streams of this rank whose connections are cut: this rank dials those that it opened, other ranks the others.
// Used by the thread of ControlMesh. Never blocks.
class Reconnector {
 public:
  // `directory` must outlive this object.
  explicit Reconnector(const Directory& directory) : directory_(directory) {}

  // Must be called in every wait. Returns the failures of peers that can no longer be connected.
  struct Ended {
    int peer;
    Failure failure;
  };
  std::vector<Ended> advance();

  void addInterests(std::vector<pollfd>& interests) const;

  // The control connection to the peer is silent, or answers again.
  void suspect(int peer);
  void trust(int peer);

  // The peer has left, failed or died.
  void end(int peer);

  // True if the process of a suspected peer is known to run.
  bool isAccepted(int peer) const;

  // What was tried to reach a suspected peer.
  std::string problemOf(int peer) const;

 private:
  Detours::Key controlOf(int peer) const;
  void look();
  void dial(const Detours::Key& key, const std::shared_ptr<ByteStream>& stream);

  const Directory& directory_;
  Clock::time_point nextLook_{};
  std::map<Detours::Key, Dialling> dialled_;
  std::map<int, RelayedProbe> probes_;  // by peer
  std::vector<std::shared_ptr<ByteStream>> behind_;  // resumed, and not all that the other side lacks is sent
  std::set<int> ended_;
};

}  // namespace ringrun
