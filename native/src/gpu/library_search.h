#pragma once

#include <string>
#include <vector>

namespace ringrun {

// Places to search for libcuda.so.1, the driver: only the file in RINGRUN_CUDA_LIBRARY if that is set; else the
// dynamic loader's (LD_LIBRARY_PATH, ld.so.cache, system folders), then the folders into which container
// runtimes and WSL mount it.
std::vector<std::string> cudaCandidates();

// Places to search for libnccl.so.2: only the file in RINGRUN_NCCL_LIBRARY if that is set; else the dynamic
// loader's, then $NCCL_HOME/lib, $CONDA_PREFIX/lib, $CUDA_HOME/lib64, /usr/local/cuda/lib64, and pip packages
// (nvidia-nccl-cu*: site-packages/nvidia/nccl/lib) in $VIRTUAL_ENV, $CONDA_PREFIX, /usr/local and /usr.
std::vector<std::string> ncclCandidates();

}  // namespace ringrun
