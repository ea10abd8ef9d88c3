#pragma once

#include <cstddef>
#include <string>

#include "gpu/cuda.h"

namespace ringrun {

// The part of the driver API that computes: modules, launches, stream capture and graphs. Types and signatures of
// docs.nvidia.com/cuda/cuda-driver-api (read for CUDA 13.0); numbers are those of its enums. CUDA 12.0 has all functions
// except the optional one. Collectives need none of them, and run with older drivers.

struct CuModuleHandle;
struct CuFunctionHandle;
struct CuGraphHandle;
struct CuGraphNodeHandle;
struct CuGraphExecHandle;
using CuModule = CuModuleHandle*;        // CUmodule
using CuFunction = CuFunctionHandle*;    // CUfunction
using CuGraph = CuGraphHandle*;          // CUgraph
using CuGraphNode = CuGraphNodeHandle*;  // CUgraphNode
using CuGraphExec = CuGraphExecHandle*;  // CUgraphExec

// CUdevice_attribute
constexpr int kComputeCapabilityMajor = 75;
constexpr int kComputeCapabilityMinor = 76;
constexpr int kMaxSharedBytesOptIn = 97;  // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN

// CUfunction_attribute
constexpr int kFunctionMaxThreads = 0;
constexpr int kFunctionSharedBytes = 1;  // static
constexpr int kFunctionLocalBytes = 3;   // of each thread
constexpr int kFunctionRegisters = 4;
constexpr int kFunctionMaxDynamicSharedBytes = 8;

// CUstreamCaptureMode: calls that are unsafe during a capture are refused to the thread that captures, and not to others.
constexpr int kCaptureThreadLocal = 1;

constexpr CuResult kCudaInvalidValue = 1;  // CUDA_ERROR_INVALID_VALUE

class CudaCompute {
 public:
  explicit CudaCompute(const Cuda& cuda) : cuda_(cuda), library_(cuda.library) {}

 private:
  const Cuda& cuda_;
  const DynamicLibrary& library_;

 public:
  // "Device Management", "Memory Management". CUDA 2.0, 3.2.
  Function<CuResult(int* value, int attribute, CuDevice device)> deviceGetAttribute{library_, "cuDeviceGetAttribute"};
  Function<CuResult(std::size_t* free, std::size_t* total)> memGetInfo{library_, "cuMemGetInfo_v2"};

  // "Module Management". CUDA 2.0.
  Function<CuResult(CuModule* module, const void* image)> moduleLoadData{library_, "cuModuleLoadData"};
  Function<CuResult(CuModule)> moduleUnload{library_, "cuModuleUnload"};
  Function<CuResult(CuFunction* function, CuModule, const char* name)> moduleGetFunction{library_, "cuModuleGetFunction"};

  // "Execution Control". CUDA 4.0; cuFuncSetAttribute 9.0. cuFuncGetParamInfo (12.4) is optional.
  Function<CuResult(int* value, int attribute, CuFunction)> funcGetAttribute{library_, "cuFuncGetAttribute"};
  Function<CuResult(CuFunction, int attribute, int value)> funcSetAttribute{library_, "cuFuncSetAttribute"};
  Function<CuResult(CuFunction, std::size_t index, std::size_t* offset, std::size_t* bytes)> funcGetParamInfo{
      library_, "cuFuncGetParamInfo"};
  Function<CuResult(CuFunction, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
                    unsigned blockZ, unsigned sharedBytes, CuStream, void** arguments, void** extra)>
      launchKernel{library_, "cuLaunchKernel"};

  // "Stream Management", "Event Management". CUDA 2.0; cuStreamBeginCapture_v2 10.1. Headers since CUDA 12.8 map
  // cuEventElapsedTime to a second version of it.
  Function<CuResult(CuStream)> streamSynchronize{library_, "cuStreamSynchronize"};
  Function<CuResult(CuStream, int mode)> streamBeginCapture{library_, "cuStreamBeginCapture_v2"};
  Function<CuResult(CuStream, CuGraph* graph)> streamEndCapture{library_, "cuStreamEndCapture"};
  Function<CuResult(CuEvent)> eventSynchronize{library_, "cuEventSynchronize"};
  Function<CuResult(float* milliseconds, CuEvent start, CuEvent end)> eventElapsedTime{library_, "cuEventElapsedTime"};

  // "Graph Management". CUDA 10.0; cuGraphInstantiateWithFlags 11.4.
  Function<CuResult(CuGraphExec* exec, CuGraph, unsigned long long flags)> graphInstantiate{
      library_, "cuGraphInstantiateWithFlags"};
  Function<CuResult(CuGraphExec, CuStream)> graphLaunch{library_, "cuGraphLaunch"};
  Function<CuResult(CuGraph, CuGraphNode* nodes, std::size_t* count)> graphGetNodes{library_, "cuGraphGetNodes"};
  Function<CuResult(CuGraphExec)> graphExecDestroy{library_, "cuGraphExecDestroy"};
  Function<CuResult(CuGraph)> graphDestroy{library_, "cuGraphDestroy"};

  // The reason why it cannot be used; empty if it can. Includes the reason of the driver itself.
  const std::string& problem() const { return problem_; }

  // Newest CUDA version of the driver: 12040 is 12.4. 0 if unknown.
  int version() const { return version_; }

  // The driver of this process; the first call opens it.
  static const CudaCompute& ofProcess();

  // As Cuda::call.
  template <typename... Parameters, typename... Arguments>
  void call(const Function<CuResult(Parameters...)>& function, const std::string& about, Arguments... arguments) const {
    cuda_.call(function, about, arguments...);
  }

 private:
  std::string findProblem();

  int version_ = 0;
  std::string problem_ = findProblem();
};

// "12.4" of 12040.
std::string describeCudaVersion(int version);

}  // namespace ringrun
