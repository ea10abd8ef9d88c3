#pragma once

#include "collectives/agreement.h"
#include "collectives/tcp/communicator.h"

namespace ringrun {

// Returns when every rank of the team has called it with the same fingerprint; else every rank throws Mismatch. For
// algorithms in which a rank could return, or write to the caller's memory, before it knows that.
void agree(Communicator& team);

// The same, and tells each rank the rows of all, by place. A row of a team has two entries for each place.
Counts agreeOnRows(Communicator& team, const Row& row);

}  // namespace ringrun
