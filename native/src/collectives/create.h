#pragma once

#include <memory>
#include <optional>

#include "collectives/algorithms.h"
#include "collectives/collectives.h"
#include "transport/connections.h"

namespace ringrun {

// Chooses the collectives for the topology: shared memory on one host, messages between hosts of one rank each,
// and both if some ranks share memory. A collective. `connections` must outlive the result. `forced`: used by
// every operation that supports it. Throws Failure.
std::unique_ptr<Collectives> createCollectives(Connections& connections, std::optional<Algorithm> forced, const Call& call);

}  // namespace ringrun
