#include "gpu/describe.h"

#include "gpu/cublaslt.h"
#include "gpu/cuda_compute.h"
#include "gpu/cudnn.h"
#include "gpu/nvrtc.h"

namespace ringrun {

LibraryDescription describeDriver(const std::string& problem) {
  const Cuda& cuda = Cuda::ofProcess();
  int version = 0;
  const bool isKnown = cuda.driverGetVersion && cuda.driverGetVersion(&version) == kCudaSuccess;
  return {cuda.library.path(), isKnown ? describeCudaVersion(version) : "", problem, cuda.library.attempts()};
}

GpuDescription describeGpu() {
  const Nvrtc& nvrtc = Nvrtc::ofProcess();
  GpuDescription description;
  description.problem = computeProblem();
  description.cuda = describeDriver(CudaCompute::ofProcess().problem());
  description.nvrtc = {nvrtc.library.path(), nvrtc.version(), nvrtc.problem(), nvrtc.library.attempts()};
  const CublasLt& cublasLt = CublasLt::ofProcess();
  description.cublasLt = {cublasLt.library.path(), cublasLt.version(), cublasLt.problem(), cublasLt.library.attempts()};
  const Cudnn& cudnn = Cudnn::ofProcess();
  description.cudnn = {cudnn.library.path(), cudnn.version(), cudnn.problem(), cudnn.library.attempts()};
  return description;
}

std::string computeProblem() {
  const std::string& driver = CudaCompute::ofProcess().problem();
  if (!driver.empty()) return "the CUDA driver: " + driver;
  const std::string& compiler = Nvrtc::ofProcess().problem();
  if (!compiler.empty()) return "NVRTC: " + compiler;
  const std::string& products = CublasLt::ofProcess().problem();
  return products.empty() ? "" : "cuBLASLt: " + products;
}

}  // namespace ringrun
