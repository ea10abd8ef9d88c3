#include <algorithm>
#include <thread>

#include "base/usable_cpus.h"

namespace ringrun {

// POSIX has neither affinity masks nor quotas.
int usableCpus() { return std::max(1, static_cast<int>(std::thread::hardware_concurrency())); }

}  // namespace ringrun
