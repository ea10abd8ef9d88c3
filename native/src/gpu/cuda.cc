#include "gpu/cuda.h"

#include "gpu/library_search.h"

namespace ringrun {

const Cuda& Cuda::ofProcess() {
  // Never destroyed: the driver's threads may use it until the process ends.
  static const Cuda* const cuda = new Cuda(cudaCandidates());
  return *cuda;
}

// Names the functions that an older driver lacks.
std::string Cuda::findProblem() const {
  if (!library.isOpen()) return "libcuda.so.1 could not be opened";
  std::string missing;
  const auto need = [&](const auto& function) {
    if (!function) missing += (missing.empty() ? "" : ", ") + std::string(function.name());
  };
  need(init), need(driverGetVersion), need(getErrorName), need(getErrorString);
  need(deviceGetCount), need(deviceGet), need(deviceGetName), need(deviceGetUuid), need(deviceGetPciBusId), need(deviceTotalMem);
  need(primaryContextRetain), need(setCurrentContext);
  need(memAlloc), need(memFree), need(memHostAlloc), need(memFreeHost);
  need(memcpyHostToDevice), need(memcpyDeviceToHost), need(memcpyDeviceToDevice), need(memset8);
  need(streamCreate), need(streamDestroy), need(streamWaitEvent);
  need(eventCreate), need(eventRecord), need(eventQuery), need(eventDestroy), need(launchHostFunction);
  if (!missing.empty()) return library.path() + " lacks " + missing + ". Install a driver for CUDA 10.0 or later";
  const CuResult result = init(0);
  if (result != kCudaSuccess) return "cuInit of " + library.path() + " failed: " + describe(result);
  int devices = 0;
  const CuResult counted = deviceGetCount(&devices);
  if (counted != kCudaSuccess) return "cuDeviceGetCount failed: " + describe(counted);
  return devices > 0 ? "" : "the driver sees no GPU. Check CUDA_VISIBLE_DEVICES, and that the container was started with GPU access";
}

std::string Cuda::describe(CuResult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  getErrorName(result, &name);
  getErrorString(result, &text);
  return std::string(name == nullptr ? "unknown error" : name) + (text == nullptr ? "" : std::string(": ") + text) + " (" +
         std::to_string(result) + ")";
}

void Cuda::throwError(const char* function, const std::string& about, CuResult result) const {
  throw Failure(FailureCode::System, {}, std::string(function) + " (" + about + "): " + describe(result));
}

}  // namespace ringrun
