#pragma once

#include "collectives/algorithms.h"
#include "collectives/tcp/team_operation.h"

namespace ringrun {

// Copies `values` from the rank at place `root` to all ranks. Writes nothing before all ranks agree.

// Dispatches to `algorithm`.
void broadcast(TeamOperation& team, Algorithm algorithm, int root, const Span& values);

// Few hops.
void binomialTreeBroadcast(TeamOperation& team, int root, const Span& values);

// No rank sends the data more than once.
void chainBroadcast(TeamOperation& team, int root, const Span& values);

}  // namespace ringrun
