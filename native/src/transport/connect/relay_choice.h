#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "transport/connect/endpoint.h"
#include "transport/topology.h"

namespace ringrun {

// The shortest round trip to a rank, or the time of a message that passes through it, if it is known.
using DelayTo = std::function<std::optional<std::chrono::microseconds>(int rank)>;

// The ranks through which a connection from `rank` to `peer` may pass, the best first: one of each other host, with the
// shortest delay in whole milliseconds, then the lowest. Empty for two ranks of one machine. Pure.
std::vector<int> relaysBetween(int rank, int peer, const Topology& topology, const std::vector<Endpoint>& endpoints,
                               const DelayTo& delayTo);

}  // namespace ringrun
