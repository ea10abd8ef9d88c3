#pragma once

#include "collectives/algorithms.h"
#include "collectives/tcp/communicator.h"

namespace ringrun {

// `values` become those of the rank at place `root`, on no rank before all ranks agree.

// By the algorithm of that name.
void broadcast(Communicator& team, Algorithm algorithm, int root, const Span& values);

// Few hops.
void binomialTreeBroadcast(Communicator& team, int root, const Span& values);

// No rank sends the data more than once.
void chainBroadcast(Communicator& team, int root, const Span& values);

}  // namespace ringrun
