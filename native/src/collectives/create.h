#pragma once

#include <memory>

#include "collectives/collectives.h"
#include "transport/connections.h"

namespace ringrun {

// What fits the topology: shared memory on one host, messages between hosts of one rank each, both where some ranks
// share memory. A collective. `connections` outlives the result. Throws Failure.
std::unique_ptr<Collectives> createCollectives(Connections& connections, const Call& call);

}  // namespace ringrun
