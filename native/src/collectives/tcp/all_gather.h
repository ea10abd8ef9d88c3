#pragma once

#include <cstddef>
#include <functional>
#include <limits>

#include "collectives/tcp/team_operation.h"

namespace ringrun {

// Sets `blocks[place]` to the block of the rank at that place; this rank's own is already set. Lengths may
// differ; all ranks know all of them.

// For large blocks: each step sends the block received in the previous one. All ranks must have agreed. Blocks are
// sent in segments of equal length on all ranks; `arrived` is called for each, while the next ones are in
// transit.
void ringAllGather(TeamOperation& team, const Spans& blocks,
                   std::size_t segmentBytes = std::numeric_limits<std::size_t>::max(),
                   const std::function<void(const Span&)>& arrived = {});

// For small blocks on many ranks. Writes nothing before all ranks agree.
void bruckAllGather(TeamOperation& team, const Spans& blocks);

}  // namespace ringrun
