#pragma once

#include <string>
#include <vector>

namespace ringrun {

// Where libcuda.so.1, the driver, is looked for, in this order: the file that RINGRUN_CUDA_LIBRARY names, and nothing
// else; or what the dynamic loader finds (LD_LIBRARY_PATH, ld.so.cache, the system's folders), and then the folders that
// container runtimes and WSL mount it into.
std::vector<std::string> cudaCandidates();

// Where libnccl.so.2 is looked for: the file that RINGRUN_NCCL_LIBRARY names, and nothing else; or what the dynamic
// loader finds, and then $NCCL_HOME/lib, $CONDA_PREFIX/lib, $CUDA_HOME/lib64, /usr/local/cuda/lib64, and what pip has
// installed (nvidia-nccl-cu*: site-packages/nvidia/nccl/lib) in $VIRTUAL_ENV, $CONDA_PREFIX, /usr/local and /usr.
std::vector<std::string> ncclCandidates();

}  // namespace ringrun
