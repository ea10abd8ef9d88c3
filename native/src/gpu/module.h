#pragma once

#include <memory>
#include <string>

#include "gpu/cuda_compute.h"
#include "gpu/device.h"

namespace ringrun {

// Resources of a kernel, as the compiler has chosen them.
struct KernelResources {
  int registers;    // of each thread
  int localBytes;   // of each thread: spilled registers and arrays with computed indices
  int sharedBytes;  // static, of each block
  int maxThreads;   // of a block
};

// Compiled kernels, loaded on one GPU (cuModule). May be used by any thread.
class GpuModule {
 public:
  // The device must be current. Throws Failure. `name`: of the source, for errors.
  GpuModule(const Device& device, const std::string& cubin, std::string name);
  GpuModule(const GpuModule&) = delete;
  GpuModule& operator=(const GpuModule&) = delete;

  // Waits until no kernel of the module runs.
  ~GpuModule();

  const std::string& name() const { return name_; }

  // Throws Failure for a kernel that does not exist, or that is not declared extern "C".
  CuFunction kernel(const std::string& kernel) const;

  // The device must be current.
  KernelResources resources(const std::string& kernel) const;

 private:
  const Device& device_;
  std::string name_;
  CuModule handle_ = nullptr;
};

}  // namespace ringrun
