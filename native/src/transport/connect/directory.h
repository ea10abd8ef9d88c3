#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "transport/connect/authentication.h"
#include "transport/connect/detours.h"
#include "transport/connect/endpoint.h"
#include "transport/topology.h"

namespace ringrun {

// The addresses and hosts of all ranks, known before any connection exists.
class Directory {
 public:
  // `endpoints`: one for each rank. `silentPeerTimeout`: time without an answer after which a peer counts as dead.
  Directory(int rank, Topology topology, std::vector<Endpoint> endpoints, const Authentication& authentication,
            Milliseconds silentPeerTimeout = kDefaultSilentPeerTimeout)
      : rank_(rank),
        topology_(std::move(topology)),
        endpoints_(std::move(endpoints)),
        authentication_(authentication),
        silentPeerTimeout_(silentPeerTimeout),
        detours_(std::make_shared<Detours>(rank, topology_, endpoints_)) {}

  int rank() const { return rank_; }
  int size() const { return topology_.size(); }
  const Topology& topology() const { return topology_; }
  const Authentication& authentication() const { return authentication_; }
  Milliseconds silentPeerTimeout() const { return silentPeerTimeout_; }
  const Endpoint& endpointOf(int peer) const { return endpoints_[static_cast<std::size_t>(peer)]; }

  const std::vector<Endpoint>& endpoints() const { return endpoints_; }

  // True if this rank is on another machine than two others, which are on different ones: it may forward their connections.
  bool isBetweenOthers() const {
    std::vector<int> others;
    for (int peer = 0; peer < size(); ++peer) {
      if (isOnThisMachine(peer)) continue;
      others.push_back(peer);
      if (endpointOf(peer).address != endpointOf(others.front()).address && !topology_.shareMemory(peer, others.front())) return true;
    }
    return false;
  }

  // Ranks that share memory use Unix sockets, which can pass memory and are faster.
  SocketType socketTypeTo(int peer) const {
    return topology_.shareMemory(rank_, peer) ? SocketType::Unix : SocketType::Tcp;
  }

  // True if the peer runs on this machine, even if it does not share memory.
  bool isOnThisMachine(int peer) const {
    return topology_.shareMemory(rank_, peer) || endpointOf(peer).address == endpointOf(rank_).address;
  }

  // True if all ranks run on this machine. Equal on all ranks.
  bool isOneMachine() const {
    const auto isBesideFirst = [&](const Endpoint& one) { return one.address == endpoints_.front().address; };
    return topology_.isOneHost() || std::all_of(endpoints_.begin(), endpoints_.end(), isBesideFirst);
  }

  // The ways to ranks that this rank cannot reach directly. The only part that changes.
  Detours& detours() const { return *detours_; }
  const std::shared_ptr<Detours>& sharedDetours() const { return detours_; }

  // "rank 1 (host node1, 10.0.0.2)"
  std::string nameOf(int peer) const { return ringrun::nameOf(peer, endpointOf(peer)); }

  // The ranks of this rank's host, including itself.
  const Team& localRanks() const { return topology_.ranksOn(topology_.hostOf(rank_)); }

 private:
  int rank_;
  Topology topology_;
  std::vector<Endpoint> endpoints_;
  Authentication authentication_;
  Milliseconds silentPeerTimeout_;
  std::shared_ptr<Detours> detours_;
};

}  // namespace ringrun
