#pragma once

#include <cstddef>

#include "collectives/algorithms.h"
#include "collectives/tcp/combination.h"
#include "collectives/tcp/communicator.h"

namespace ringrun {

// The `count` elements of `data` become the combination of everybody's, with the same bytes on every rank of the team
// and in every run. In each of these a rank knows that all of the team agree before it writes to `data`;
// docs/algorithms.md has their costs side by side.

// By the algorithm of that name; partial results of 16-bit floating-point numbers travel as float32.
void allReduce(Communicator& team, Algorithm algorithm, const Combination& combination, void* data, std::size_t count);

// Every term goes straight to who reduces it, in the order of the team.
void directAllReduce(Communicator& team, const Combination& combination, void* data, std::size_t count);

// Partial results travel in these two.
void halvingDoublingAllReduce(Communicator& team, const Combination& combination, void* data, std::size_t count);
void ringAllReduce(Communicator& team, const Combination& combination, void* data, std::size_t count);

}  // namespace ringrun
