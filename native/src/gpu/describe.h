#pragma once

#include <string>
#include <vector>

#include "base/dynamic_library.h"

namespace ringrun {

struct LibraryDescription {
  std::string path;     // of the loaded library; empty if none was loaded
  std::string version;  // "12.4", "2.21.5"; empty if unknown
  std::string problem;  // the reason why it cannot be used; empty if it can
  std::vector<Attempt> attempts;
};

// The libraries that compute on a GPU.
struct GpuDescription {
  std::string problem;  // the reason why this process cannot compute on a GPU; empty if it can
  LibraryDescription cuda;
  LibraryDescription nvrtc;
  LibraryDescription cublasLt;
  LibraryDescription cudnn;  // only convolutions need it
};

// Opens the libraries; allocates nothing on a GPU.
GpuDescription describeGpu();

// The driver, with the reason why it cannot be used in `problem`.
LibraryDescription describeDriver(const std::string& problem);

// GpuDescription::problem, without the descriptions.
std::string computeProblem();

}  // namespace ringrun
