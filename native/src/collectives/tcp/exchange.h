#pragma once

#include "collectives/tcp/communicator.h"

namespace ringrun {

// `takes[place]` becomes what the rank at that place has in `gives` for this rank, whose own block stays where it is.
// All ranks have agreed, on all lengths too; blocks of no bytes are not sent.

// With one rank after the other.
void pairwiseExchange(Communicator& team, const Spans& gives, const Spans& takes);

// With several ranks at once.
void directExchange(Communicator& team, const Spans& gives, const Spans& takes);

}  // namespace ringrun
