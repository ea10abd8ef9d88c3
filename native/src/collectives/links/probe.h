#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/operation.h"
#include "collectives/links/arrivals.h"
#include "transport/tcp/messenger.h"
#include "transport/topology.h"

namespace ringrun {

// Exchanges messages with other hosts and measures them. Both sides call the same functions in the same order.
class Probe {
 public:
  // `leaders`: the rank of each host that sends for it. All arguments must outlive this object.
  Probe(Messenger& messenger, const Call& call, const Team& leaders);

  // Opens the connections.
  void open(const std::vector<int>& hosts);

  // Sends small messages there and back. Returns the shortest round trip to each of `hosts`, in seconds.
  std::map<int, double> roundTrips(const std::vector<int>& hosts);

  // Sends to all of `hosts` and receives from them at once, for `seconds`. Returns the bytes per second that arrived from
  // each.
  std::map<int, double> rates(const std::vector<int>& hosts, double seconds);

 private:
  struct Ping;
  struct Stream;
  Outgoing to(int host, const void* data, std::size_t bytes);
  Incoming from(int host, void* into, std::size_t bytes);
  int hostOf(int rank) const { return placeOf_.at(rank); }

  Messenger& messenger_;
  const Call& call_;
  const Team& leaders_;
  int own_;
  std::map<int, int> placeOf_;
  std::map<int, double> roundTrips_;
  // Numbers of messages so far, by host.
  std::vector<std::uint32_t> sent_;
  std::vector<std::uint32_t> received_;
};

}  // namespace ringrun
