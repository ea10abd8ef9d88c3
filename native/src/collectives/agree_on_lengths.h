#pragma once

#include <vector>

#include "collectives/lengths.h"
#include "collectives/collectives.h"

namespace ringrun {

// Agreement on lengths by an exchange, for operations that do not agree otherwise. Each function returns when
// every rank has called it with the same fingerprint; otherwise every rank throws Mismatch.

// Returns all ranks' rows, by rank. All rows are as long as this one.
std::vector<Row> gatherRows(Collectives& collectives, const Call& call, const Row& row);

// Checks that all ranks have as many arrays as the fingerprint states, of the same lengths.
void agreeOnLengths(Collectives& collectives, const Call& call, const Blocks& arrays);

}  // namespace ringrun
