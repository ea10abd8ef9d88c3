#include "gpu/cuda_compute.h"

namespace ringrun {
namespace {

constexpr int kMinComputeVersion = 12000;  // of the libraries that compute

}  // namespace

const CudaCompute& CudaCompute::ofProcess() {
  // Never destroyed, as the driver itself.
  static const CudaCompute* const compute = new CudaCompute(Cuda::ofProcess());
  return *compute;
}

std::string CudaCompute::findProblem() {
  if (!cuda_.problem().empty()) return cuda_.problem();
  if (cuda_.driverGetVersion(&version_) != kCudaSuccess) return library_.path() + " does not report its version";
  if (version_ < kMinComputeVersion) {
    return "the driver " + library_.path() + " is for CUDA " + describeCudaVersion(version_) + ", expected " +
           describeCudaVersion(kMinComputeVersion) + " or later. Install driver 525 or later";
  }
  std::string missing;
  const auto need = [&](const auto& function) {
    if (!function) missing += (missing.empty() ? "" : ", ") + std::string(function.name());
  };
  need(deviceGetAttribute), need(memGetInfo);
  need(moduleLoadData), need(moduleUnload), need(moduleGetFunction);
  need(funcGetAttribute), need(funcSetAttribute), need(launchKernel);
  need(streamSynchronize), need(streamBeginCapture), need(streamEndCapture), need(eventSynchronize), need(eventElapsedTime);
  need(graphInstantiate), need(graphLaunch), need(graphGetNodes), need(graphExecDestroy), need(graphDestroy);
  return missing.empty() ? "" : library_.path() + " lacks " + missing;
}

std::string describeCudaVersion(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace ringrun
