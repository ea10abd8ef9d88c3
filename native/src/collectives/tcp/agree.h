#pragma once

#include "collectives/lengths.h"
#include "collectives/tcp/team_operation.h"

namespace ringrun {

// Returns when every rank of the team has called it with the same fingerprint; otherwise every rank throws
// Mismatch. For algorithms in which a rank could return, or write to the caller's memory, before all ranks
// agree.
void agree(TeamOperation& team);

// agree(), and returns the rows of all ranks, by place. A row of a team has two entries for each place.
Counts agreeOnRows(TeamOperation& team, const Row& row);

}  // namespace ringrun
