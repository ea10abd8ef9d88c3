#pragma once

#include <cstddef>
#include <string>

#include "base/mapping.h"
#include "base/operation.h"
#include "base/unique_fd.h"
#include "transport/control/mesh.h"

namespace ringrun {

// A file of `bytes` zeros that exists in memory only and has no name: independent of the size of /dev/shm. Throws
// Failure.
UniqueFd createMemory(std::size_t bytes);

// Why this process cannot share memory; empty when it can.
std::string sharedMemoryProblem();

// One mapping on every rank of a host of the same new memory: the first of `team` makes it and hands it to the others
// over the control connections. All of them call it in the same operation. Throws Failure.
Mapping shareMemory(ControlMesh& mesh, const Team& team, int rank, std::size_t bytes, const Call& call);

}  // namespace ringrun
