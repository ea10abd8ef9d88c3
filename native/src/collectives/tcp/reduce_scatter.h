#pragma once

#include "collectives/blocks.h"
#include "collectives/tcp/combination.h"
#include "collectives/tcp/team_operation.h"

namespace ringrun {

// Sets `output` to the combination of all ranks' `inputs` for this rank; `inputs` has one for each place. All
// ranks have agreed, including on all lengths.
void directReduceScatter(TeamOperation& team, const Combination& combination, const Blocks& inputs, const Block& output);

}  // namespace ringrun
