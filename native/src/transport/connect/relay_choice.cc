#include "transport/connect/relay_choice.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace ringrun {

std::vector<int> relaysBetween(int rank, int peer, const Topology& topology, const std::vector<Endpoint>& endpoints,
                               const DelayTo& delayTo) {
  const auto endpointOf = [&](int one) -> const Endpoint& { return endpoints[static_cast<std::size_t>(one)]; };
  const auto isSameMachine = [&](int one, int other) {
    return topology.shareMemory(one, other) || endpointOf(one).address == endpointOf(other).address;
  };
  std::vector<int> relays;
  if (isSameMachine(rank, peer)) return relays;
  for (int one = 0; one < topology.size(); ++one) {
    const bool isKnown = std::any_of(relays.begin(), relays.end(), [&](int relay) { return isSameMachine(one, relay); });
    if (isKnown || isSameMachine(one, rank) || isSameMachine(one, peer) || endpointOf(one).relayPort == 0) continue;
    relays.push_back(one);
  }
  // Whole milliseconds: smaller differences are chance.
  std::vector<std::int64_t> delays(static_cast<std::size_t>(topology.size()), std::numeric_limits<std::int64_t>::max());
  for (const int relay : relays) {
    const auto delay = delayTo ? delayTo(relay) : std::nullopt;
    if (delay) delays[static_cast<std::size_t>(relay)] = std::chrono::floor<std::chrono::milliseconds>(*delay).count();
  }
  std::stable_sort(relays.begin(), relays.end(), [&](int a, int b) {
    return delays[static_cast<std::size_t>(a)] < delays[static_cast<std::size_t>(b)];
  });
  return relays;
}

}  // namespace ringrun
