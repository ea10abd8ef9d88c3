#pragma once

#include "collectives/blocks.h"
#include "collectives/tcp/combination.h"
#include "collectives/tcp/communicator.h"

namespace ringrun {

// `output` becomes the combination of what allRanks has for this rank in `inputs`, of which there is one for each
// place. All ranks have agreed, on all lengths too.
void directReduceScatter(Communicator& team, const Combination& combination, const Blocks& inputs, const Block& output);

}  // namespace ringrun
