#include "collectives/tcp/all_reduce.h"

#include "collectives/tcp/in_float32.h"

namespace ringrun {

void allReduce(Communicator& team, Algorithm algorithm, const Combination& combination, void* data, std::size_t count) {
  if (algorithm != Algorithm::Ring && algorithm != Algorithm::HalvingDoubling) {
    return directAllReduce(team, combination, data, count);
  }
  const auto passOn = algorithm == Algorithm::Ring ? ringAllReduce : halvingDoublingAllReduce;
  if (!isReducedInFloat32(combination.dtype)) return passOn(team, combination, data, count);
  const InFloat32 wide(team, combination, data, count);
  passOn(team, wide.combination(), wide.data(), count);
  wide.narrowInto(data);
}

}  // namespace ringrun
