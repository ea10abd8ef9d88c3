#pragma once

#include <cstddef>

#include "collectives/collectives.h"
#include "collectives/tcp/all_reduce.h"
#include "collectives/tcp/team_operation.h"

namespace ringrun {

// Replaces `reduction.data` by the sum over the team of each rank's data / divisor, sent in `reduction.bits` bits: the same bytes on
// every rank and in every run. Callbacks as in allReduce: a range is complete when it has its final values.
void allReduceQuantized(TeamOperation& team, const QuantizedReduction& reduction, std::size_t divisor,
                        const OverlapCallbacks& callbacks = {});

}  // namespace ringrun
