#include "collectives/tcp/all_reduce.h"

#include "collectives/tcp/in_float32.h"

namespace ringrun {

void allReduce(Communicator& team, Algorithm algorithm, const Combination& combination, void* data, std::size_t count) {
  if (algorithm != Algorithm::Ring && algorithm != Algorithm::HalvingDoubling) {
    return directAllReduce(team, combination, data, count);
  }
  const auto passOn = [&](const Combination& terms, void* values) {
    if (algorithm == Algorithm::Ring) return ringAllReduce(team, terms, values, count);
    halvingDoublingAllReduce(team, terms, values, count);
  };
  if (!isReducedInFloat32(combination.dtype)) return passOn(combination, data);
  const InFloat32 wide(team, combination, data, count);
  passOn(wide.combination(), wide.data());
  wide.narrowInto(data);
}

void allReduce(Communicator& team, Algorithm algorithm, const Combination& combination, void* data, std::size_t count,
               const Overlapped& overlapped) {
  if (algorithm == Algorithm::Ring && !isReducedInFloat32(combination.dtype)) {
    return ringAllReduce(team, combination, data, count, overlapped);
  }
  overlapped.beforeUse({0, count});
  allReduce(team, algorithm, combination, data, count);
  overlapped.whenComplete({0, count});
}

}  // namespace ringrun
