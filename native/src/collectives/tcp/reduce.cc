#include "collectives/tcp/reduce.h"

#include "collectives/tcp/in_float32.h"

namespace ringrun {

void reduceTo(TeamOperation& team, Algorithm algorithm, int root, const Combination& combination, void* data,
              std::size_t count) {
  if (algorithm != Algorithm::BinomialTree) return directReduce(team, root, combination, data, count);
  if (!isReducedInFloat32(combination.dtype)) return binomialTreeReduce(team, root, combination, data, count);
  const InFloat32 wide(team, combination, data, count);
  binomialTreeReduce(team, root, wide.combination(), wide.data(), count);
  if (team.place() == root) wide.narrowInto(data);
}

}  // namespace ringrun
