#include "gpu/toolkit_versions.h"

#include <algorithm>

#include "gpu/cuda_compute.h"

namespace ringrun {
namespace {

constexpr int kOldestToolkit = 12;
constexpr int kNewestToolkit = 13;

}  // namespace

// Without a driver all of them: NVRTC compiles without one.
std::vector<std::string> toolkitFiles(const std::string& name) {
  const int driver = CudaCompute::ofProcess().version() / 1000;
  std::vector<std::string> files;
  for (int major = driver == 0 ? kNewestToolkit : std::min(driver, kNewestToolkit); major >= kOldestToolkit; --major) {
    files.push_back(name + "." + std::to_string(major));
  }
  return files;
}

}  // namespace ringrun
