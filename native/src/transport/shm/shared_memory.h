#pragma once

#include <cstddef>
#include <string>

#include "base/mapping.h"
#include "base/operation.h"
#include "base/unique_fd.h"
#include "transport/control/mesh.h"

namespace ringrun {

// The reason why this process cannot share memory; empty if it can.
std::string sharedMemoryProblem();

// Maps the same new memory on every rank of a host: the first rank of `team` creates it and sends it to the
// others over the control connections. All of them call it in the same operation. Throws Failure.
Mapping shareMemory(ControlMesh& mesh, const Team& team, int rank, std::size_t bytes, const Call& call);

}  // namespace ringrun
