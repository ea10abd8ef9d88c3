#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "transport/connect/endpoint.h"
#include "transport/topology.h"

namespace ringrun {

// Who is where: what a rank knows of the others before anything is connected.
class Directory {
 public:
  // `endpoints` has one for each rank.
  Directory(int rank, Topology topology, std::vector<Endpoint> endpoints)
      : rank_(rank), topology_(std::move(topology)), endpoints_(std::move(endpoints)) {}

  int rank() const { return rank_; }
  int size() const { return topology_.size(); }
  const Topology& topology() const { return topology_; }
  const Endpoint& endpointOf(int peer) const { return endpoints_[static_cast<std::size_t>(peer)]; }

  // Ranks that share memory talk over Unix sockets: only those hand over memory, and they are faster.
  Carrier carrierTo(int peer) const {
    return topology_.shareMemory(rank_, peer) ? Carrier::LocalSocket : Carrier::Tcp;
  }

  // Whether the other rank runs on this machine, whatever it shares.
  bool isHere(int peer) const {
    return topology_.shareMemory(rank_, peer) || endpointOf(peer).address == endpointOf(rank_).address;
  }

  // Whether all ranks run on this machine; all of them say the same.
  bool isOneMachine() const {
    const auto isBesideFirst = [&](const Endpoint& one) { return one.address == endpoints_.front().address; };
    return topology_.isOneHost() || std::all_of(endpoints_.begin(), endpoints_.end(), isBesideFirst);
  }

  // Ranks of this rank's host, itself among them.
  const Team& neighbours() const { return topology_.ranksOn(topology_.hostOf(rank_)); }

 private:
  int rank_;
  Topology topology_;
  std::vector<Endpoint> endpoints_;
};

}  // namespace ringrun
