#include "collectives/tcp/all_reduce.h"

#include "collectives/tcp/in_float32.h"

namespace ringrun {

namespace {

// Empty for an algorithm that does not send partial results.
using PassOn = void (*)(TeamOperation& team, const Combination& combination, void* data, std::size_t count);
PassOn passingOn(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::RecursiveDoubling: return recursiveDoublingAllReduce;
    case Algorithm::HalvingDoubling: return halvingDoublingAllReduce;
    case Algorithm::Ring:
      return [](TeamOperation& team, const Combination& combination, void* data, std::size_t count) {
        ringAllReduce(team, combination, data, count);
      };
    default: return nullptr;
  }
}

}  // namespace

void allReduce(TeamOperation& team, Algorithm algorithm, const Combination& combination, void* data, std::size_t count) {
  const PassOn passOn = passingOn(algorithm);
  if (passOn == nullptr) return directAllReduce(team, combination, data, count);
  if (!isReducedInFloat32(combination.dtype)) return passOn(team, combination, data, count);
  const InFloat32 wide(team, combination, data, count);
  passOn(team, wide.combination(), wide.data(), count);
  wide.narrowInto(data);
}

void allReduce(TeamOperation& team, Algorithm algorithm, const Combination& combination, void* data, std::size_t count,
               const OverlapCallbacks& callbacks) {
  if (algorithm == Algorithm::Ring && !isReducedInFloat32(combination.dtype)) {
    return ringAllReduce(team, combination, data, count, callbacks);
  }
  callbacks.beforeUse({0, count});
  allReduce(team, algorithm, combination, data, count);
  callbacks.whenComplete({0, count});
}

}  // namespace ringrun
