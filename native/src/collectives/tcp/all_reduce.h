#pragma once

#include <cstddef>
#include <functional>

#include "collectives/algorithms.h"
#include "collectives/split.h"
#include "collectives/tcp/combination.h"
#include "collectives/tcp/team_operation.h"

namespace ringrun {

// Callbacks that overlap with communication. Each is called exactly once for every element, in ranges of any
// order.
struct OverlapCallbacks {
  // The elements are about to be read.
  std::function<void(const Range&)> beforeUse = [](const Range&) {};
  // The elements have their final values, and all ranks of the team agree.
  std::function<void(const Range&)> whenComplete = [](const Range&) {};
};

// Replaces the `count` elements of `data` by the combination over the team: the same bytes on every rank and in
// every run. Every algorithm ensures that all ranks agree before it writes to `data`; docs/algorithms.md
// compares costs.

// Dispatches to `algorithm`. Partial results of 16-bit floating-point numbers are sent as float32.
void allReduce(TeamOperation& team, Algorithm algorithm, const Combination& combination, void* data, std::size_t count);

// The same, with callbacks before and after the use of each element. A ring calls them while it waits for the
// network; the other algorithms, which are for less data, call them before and after everything else.
void allReduce(TeamOperation& team, Algorithm algorithm, const Combination& combination, void* data, std::size_t count,
               const OverlapCallbacks& callbacks);

// Every rank sends each term directly to the rank that reduces it, in the order of the team.
void directAllReduce(TeamOperation& team, const Combination& combination, void* data, std::size_t count);

// These send partial results.
void recursiveDoublingAllReduce(TeamOperation& team, const Combination& combination, void* data, std::size_t count);
void halvingDoublingAllReduce(TeamOperation& team, const Combination& combination, void* data, std::size_t count);
void ringAllReduce(TeamOperation& team, const Combination& combination, void* data, std::size_t count,
                   const OverlapCallbacks& callbacks = {});

}  // namespace ringrun
