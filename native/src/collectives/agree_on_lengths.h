#pragma once

#include <vector>

#include "collectives/agreement.h"
#include "collectives/collectives.h"

namespace ringrun {

// Agreements by an exchange of rows of lengths, for operations that have none of their own. Each returns when every rank has
// called it with the same fingerprint; else every rank throws Mismatch.

// All ranks' rows, by rank; all are as long as this one.
std::vector<Row> gatherRows(Collectives& collectives, const Call& call, const Row& row);

// All ranks have arrays of the same lengths, and as many as the fingerprint says.
void agreeOnLengths(Collectives& collectives, const Call& call, const Blocks& arrays);

}  // namespace ringrun
