#pragma once

namespace ringrun {

// Processors that this process may keep busy: its affinity mask, and the CPU quota of its cgroup (v2 and v1) where
// that is less. At least 1.
int usableCpus();

}  // namespace ringrun
