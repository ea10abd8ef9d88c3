#pragma once

#include <cstddef>

#include "collectives/algorithms.h"
#include "collectives/tcp/combination.h"
#include "collectives/tcp/team_operation.h"

namespace ringrun {

// Sets `count` elements of `data` on the rank at place `root` to the combination over all ranks; data of other
// ranks does not change. All ranks have agreed.

// Dispatches to `algorithm`. Partial results of 16-bit floating-point numbers are sent as float32.
void reduceTo(TeamOperation& team, Algorithm algorithm, int root, const Combination& combination, void* data,
              std::size_t count);

// Sends every term directly to the one rank that reduces it, in the order of the team, and the results to the
// root.
void directReduce(TeamOperation& team, int root, const Combination& combination, void* data, std::size_t count);

// Sends partial results up a tree.
void binomialTreeReduce(TeamOperation& team, int root, const Combination& combination, void* data, std::size_t count);

}  // namespace ringrun
