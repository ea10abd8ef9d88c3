#include "gpu/module.h"

#include <utility>

namespace ringrun {

GpuModule::GpuModule(const Device& device, const std::string& cubin, std::string name) : device_(device), name_(std::move(name)) {
  const CudaCompute& cuda = CudaCompute::ofProcess();
  cuda.call(cuda.moduleLoadData, name_ + " on " + device.name(), &handle_, static_cast<const void*>(cubin.data()));
}

GpuModule::~GpuModule() {
  if (!failureOf([&] { device_.makeCurrent(); })) CudaCompute::ofProcess().moduleUnload(handle_);
}

CuFunction GpuModule::kernel(const std::string& kernel) const {
  const CudaCompute& cuda = CudaCompute::ofProcess();
  CuFunction function = nullptr;
  device_.makeCurrent();
  cuda.call(cuda.moduleGetFunction, "kernel " + kernel + " of " + name_, &function, handle_, kernel.c_str());
  return function;
}

KernelResources GpuModule::resources(const std::string& kernel) const {
  const CudaCompute& cuda = CudaCompute::ofProcess();
  const CuFunction function = this->kernel(kernel);
  const auto attribute = [&](int number) {
    int value = 0;
    cuda.call(cuda.funcGetAttribute, "kernel " + kernel + " of " + name_, &value, number, function);
    return value;
  };
  return {attribute(kFunctionRegisters), attribute(kFunctionLocalBytes), attribute(kFunctionSharedBytes), attribute(kFunctionMaxThreads)};
}

}  // namespace ringrun
