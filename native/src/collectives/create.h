#pragma once

#include <memory>
#include <optional>

#include "collectives/algorithms.h"
#include "collectives/collectives.h"
#include "transport/connections.h"

namespace ringrun {

// What fits the topology: shared memory on one host, messages between hosts of one rank each, both where some ranks
// share memory. A collective. `connections` outlives the result. `forced`: for every operation that has it. Throws Failure.
std::unique_ptr<Collectives> createCollectives(Connections& connections, std::optional<Algorithm> forced, const Call& call);

}  // namespace ringrun
