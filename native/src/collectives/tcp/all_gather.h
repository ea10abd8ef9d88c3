#pragma once

#include <cstddef>
#include <functional>
#include <limits>

#include "collectives/tcp/communicator.h"

namespace ringrun {

// `blocks[place]` of every rank becomes that of the rank at this place, whose own is there already. All ranks know all
// lengths, which may differ; places are in the order of the team.

// For large blocks: what a rank sends was the previous one's in the step before. All ranks have agreed. Blocks travel
// in segments, equally long on all ranks; `arrived` is told of each that is there, while the next ones are on the way.
void ringAllGather(Communicator& team, const Spans& blocks,
                   std::size_t segmentBytes = std::numeric_limits<std::size_t>::max(),
                   const std::function<void(const Span&)>& arrived = {});

// For small blocks on many ranks. Nothing is written before all ranks agree.
void bruckAllGather(Communicator& team, const Spans& blocks);

}  // namespace ringrun
