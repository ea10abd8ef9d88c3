#pragma once

#include <cstddef>

#include "base/unique_fd.h"

namespace ringrun {

// A nameless file in memory, of `bytes` zeros or, on some systems, of whole pages. On Linux not limited by the size of
// /dev/shm. Throws Failure.
UniqueFd createMemoryFile(std::size_t bytes);

}  // namespace ringrun
