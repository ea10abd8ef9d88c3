#pragma once

#include "collectives/tcp/team_operation.h"

namespace ringrun {

// Sets `toReceive[place]` to the `toSend` block for this rank of the rank at that place, except for this rank's
// own block. All ranks have agreed, including on all lengths; empty blocks are not sent.

// One peer after another.
void pairwiseExchange(TeamOperation& team, const Spans& toSend, const Spans& toReceive);

// Several peers at once.
void directExchange(TeamOperation& team, const Spans& toSend, const Spans& toReceive);

}  // namespace ringrun
