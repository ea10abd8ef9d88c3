#pragma once

#include <string>
#include <vector>

namespace ringrun {

// Where a library of NVIDIA's is looked for.
struct LibrarySearch {
  const char* variable;             // RINGRUN_…_LIBRARY: the only place if it is set
  std::vector<std::string> files;   // names by version, the preferred one first: libnvrtc.so.13, libnvrtc.so.12
  const char* homeVariable;         // its folder `lib` is searched; null: none
  std::vector<std::string> wheels;  // folders of pip's packages inside site-packages: nvidia/cuda_nvrtc/lib
};

// Only the file in the search's variable if that is set. Otherwise, for each file name: the name for the dynamic loader
// (LD_LIBRARY_PATH, ld.so.cache, system folders), then the files that exist in $HOME_VARIABLE/lib, $CONDA_PREFIX/lib,
// $CUDA_HOME/lib64, /usr/local/cuda/lib64, and in pip's packages of $VIRTUAL_ENV, $CONDA_PREFIX, $HOME/.local, /usr/local and
// /usr.
std::vector<std::string> candidatesOf(const LibrarySearch& search);

// Places to search for libcuda.so.1, the driver: only the file in RINGRUN_CUDA_LIBRARY if that is set; else the
// dynamic loader's, then the folders into which container runtimes and WSL mount it.
std::vector<std::string> cudaCandidates();

}  // namespace ringrun
