#pragma once

#include <cstddef>

#include "collectives/algorithms.h"
#include "collectives/tcp/combination.h"
#include "collectives/tcp/communicator.h"

namespace ringrun {

// On the rank at place `root` the `count` elements of `data` become the combination of allRanks's; nobody else's
// change. All ranks have agreed.

// By the algorithm of that name; partial results of 16-bit floating-point numbers travel as float32.
void reduceTo(Communicator& team, Algorithm algorithm, int root, const Combination& combination, void* data,
              std::size_t count);

// Every term goes straight to one rank that reduces it, in the order of the team, and from there to the root.
void directReduce(Communicator& team, int root, const Combination& combination, void* data, std::size_t count);

// Partial results travel, up a tree.
void binomialTreeReduce(Communicator& team, int root, const Combination& combination, void* data, std::size_t count);

}  // namespace ringrun
