#pragma once

#include <cstddef>
#include <functional>

#include "collectives/algorithms.h"
#include "collectives/split.h"
#include "collectives/tcp/combination.h"
#include "collectives/tcp/communicator.h"

namespace ringrun {

// What somebody does with elements of the array while others travel. Both are called once for every element, a range at
// a time, in any order of the ranges.
struct Overlapped {
  // They are about to be read.
  std::function<void(const Range&)> beforeUse = [](const Range&) {};
  // They have their final values, and all of the team agree.
  std::function<void(const Range&)> whenComplete = [](const Range&) {};
};

// The `count` elements of `data` become the combination of allRanks's, with the same bytes on every rank of the team
// and in every run. In each of these a rank knows that all of the team agree before it writes to `data`;
// docs/algorithms.md has their costs side by side.

// By the algorithm of that name; partial results of 16-bit floating-point numbers travel as float32.
void allReduce(Communicator& team, Algorithm algorithm, const Combination& combination, void* data, std::size_t count);

// The same, where something is to be done with each element before and after: by a ring while it waits for the network,
// by the other algorithms, which are for less data, before and after everything else.
void allReduce(Communicator& team, Algorithm algorithm, const Combination& combination, void* data, std::size_t count,
               const Overlapped& overlapped);

// Every term goes straight to who reduces it, in the order of the team.
void directAllReduce(Communicator& team, const Combination& combination, void* data, std::size_t count);

// Partial results travel in these.
void recursiveDoublingAllReduce(Communicator& team, const Combination& combination, void* data, std::size_t count);
void halvingDoublingAllReduce(Communicator& team, const Combination& combination, void* data, std::size_t count);
void ringAllReduce(Communicator& team, const Combination& combination, void* data, std::size_t count,
                   const Overlapped& overlapped = {});

}  // namespace ringrun
