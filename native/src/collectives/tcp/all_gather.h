#pragma once

#include "collectives/tcp/communicator.h"

namespace ringrun {

// `blocks[place]` of every rank becomes that of the rank at this place, whose own is there already. All ranks know all
// lengths, which may differ; places are in the order of the team.

// For large blocks: what a rank sends was the previous one's in the step before. All ranks have agreed.
void ringAllGather(Communicator& team, const Spans& blocks);

// For small blocks on many ranks. Nothing is written before all ranks agree.
void bruckAllGather(Communicator& team, const Spans& blocks);

}  // namespace ringrun
