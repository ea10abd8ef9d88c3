#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "transport/connect/byte_stream.h"
#include "transport/connect/host_links.h"
#include "transport/connect/relay_choice.h"
#include "transport/wire.h"

namespace ringrun {

// The ways from this rank to the ranks that it cannot reach directly, and the resumable streams of the group. Used by one
// thread at a time.
class Detours {
 public:
  Detours(int rank, const Topology& topology, const std::vector<Endpoint>& endpoints)
      : rank_(rank), topology_(topology), endpoints_(endpoints), relayTo_(static_cast<std::size_t>(topology.size())) {}

  // From now on, near relays are preferred.
  void setDelays(DelayTo delayTo) { delayTo_ = std::move(delayTo); }

  // From now on, relays with the shortest time of a message are preferred, if the links are known. Equal on both ranks.
  void setLinks(HostLinks links) { links_ = std::move(links); }

  // Relays for connections to `peer`, the best first: the one that is in use, if any.
  std::vector<int> relaysTo(int peer) const;

  bool hasRelaysTo(int peer) const { return !relaysBetween(rank_, peer, topology_, endpoints_, {}).empty(); }

  // The relay through which connections to `peer` pass, if any.
  std::optional<int> relayTo(int peer) const { return relayTo_[static_cast<std::size_t>(peer)]; }

  // Connections to `peer` pass through `relay` from now on, or directly without a value. Those that this rank opened give up
  // present connections on other ways. The higher rank of the two writes a line if this is new to it. `problem`: the reason why
  // the way before was given up; empty if only the other rank knows.
  void follow(const std::optional<int>& relay, int peer, const std::string& problem = {});

  // The streams by the rank at the other end, the purpose, the lane, and the side of this rank.
  struct Key {
    int peer;
    Purpose purpose;
    std::uint32_t lane;
    bool isDialled;
    bool operator<(const Key& other) const {
      return std::tie(peer, purpose, lane, isDialled) < std::tie(other.peer, other.purpose, other.lane, other.isDialled);
    }
  };

  // Makes the stream resumable if relays to the rank exist.
  void add(const Key& key, const std::shared_ptr<ByteStream>& stream);

  // Null if it has none.
  std::shared_ptr<ByteStream> find(const Key& key) const;

  // All streams that are in use.
  std::vector<std::pair<Key, std::shared_ptr<ByteStream>>> streams();

 private:
  std::string nameOf(int rank) const { return ringrun::nameOf(rank, endpoints_[static_cast<std::size_t>(rank)]); }
  std::string describeChange(const std::optional<int>& before, const std::optional<int>& now, int peer,
                             const std::string& problem) const;

  int rank_;
  Topology topology_;
  std::vector<Endpoint> endpoints_;
  DelayTo delayTo_;
  HostLinks links_;
  std::vector<std::optional<int>> relayTo_;  // by rank
  std::map<Key, std::weak_ptr<ByteStream>> streams_;
};

}  // namespace ringrun
