#include <cstdint>
#include <vector>

#include "collectives/tcp/all_reduce.h"
#include "collectives/tcp/hypercube.h"

namespace ringrun {

// log₂ vertices steps, in which every vertex sends bytes. Surplus ranks and their neighbours send bytes more,
// in 2 more steps.
//
//   4 ranks    0        1        2        3
//              01 ↔ 1   01 ↔ 0   23 ↔ 3   23 ↔ 2     whose terms a rank has combined, and its partner
//              0123 ↔ 2          0123 ↔ 0            complete
//
// An element is reduced as a tree, neighbours first: (0 ∘ 1) ∘ (2 ∘ 3), by every vertex for itself, with the
// lower one's terms first. After the last step a rank has heard from all others, directly or indirectly, and may write
// to the caller's memory. A surplus rank hears only from its neighbour, and only at the end, so it checks the
// header first.
void recursiveDoublingAllReduce(TeamOperation& team, const Combination& combination, void* data, std::size_t count) {
  const Hypercube cube(team.size());
  const int place = team.place();
  const std::size_t bytes = count * combination.elementBytes();
  if (cube.isSurplus(place)) {
    team.transfer({{team.above(), data, bytes}}, {});
    return team.transfer({}, {{team.above(), data, bytes, true}});
  }
  std::uint8_t* const received = team.receiveBuffer(2 * bytes);
  std::uint8_t* const partial = received + bytes;
  const void* own = data;
  if (cube.standsForTwo(place)) {
    team.transfer({}, {{team.below(), received, bytes}});
    combination.combine({received, own}, partial, count);
    own = partial;
  }
  const int vertex = cube.vertexOf(place);
  for (int bit = 1; bit < cube.vertices(); bit *= 2) {
    const int neighbour = cube.placeOf(vertex ^ bit);
    team.transfer({{neighbour, own, bytes}}, {{neighbour, received, bytes}});
    const bool isUpper = (vertex & bit) != 0;
    const std::vector<const void*> terms = isUpper ? std::vector<const void*>{received, own}
                                                   : std::vector<const void*>{own, received};
    if (2 * bit == cube.vertices()) {
      combination.complete(terms, data, count);
    } else {
      combination.combine(terms, partial, count);
    }
    own = partial;
  }
  if (cube.standsForTwo(place)) team.transfer({{team.below(), data, bytes}}, {});
}

}  // namespace ringrun
