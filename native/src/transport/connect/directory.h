#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "transport/connect/authentication.h"
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
        silentPeerTimeout_(silentPeerTimeout) {}

  int rank() const { return rank_; }
  int size() const { return topology_.size(); }
  const Topology& topology() const { return topology_; }
  const Authentication& authentication() const { return authentication_; }
  Milliseconds silentPeerTimeout() const { return silentPeerTimeout_; }
  const Endpoint& endpointOf(int peer) const { return endpoints_[static_cast<std::size_t>(peer)]; }

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

  // The ranks of this rank's host, including itself.
  const Team& localRanks() const { return topology_.ranksOn(topology_.hostOf(rank_)); }

 private:
  int rank_;
  Topology topology_;
  std::vector<Endpoint> endpoints_;
  Authentication authentication_;
  Milliseconds silentPeerTimeout_;
};

}  // namespace ringrun
