#pragma once

namespace ringrun {

// The number of processors that this process may use: the size of its affinity mask or, if lower, the CPU quota
// of its cgroup (v1 and v2). At least 1.
int usableCpus();

}  // namespace ringrun
