#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/failure.h"
#include "base/dynamic_library.h"

namespace ringrun {

// The part of NVIDIA's CUDA driver API in use, without its header: types and signatures of
// docs.nvidia.com/cuda/cuda-driver-api (read for CUDA 12.4). Each comment names the version since which its
// functions exist under the name looked up; CUDA 10.0 has all of them. The header renames some functions:
// cuMemAlloc is cuMemAlloc_v2 in the library.

using CuResult = int;             // CUresult, an enum
using CuDevice = int;             // CUdevice
using CuPointer = std::uint64_t;  // CUdeviceptr, unsigned long long where pointers have 64 bits
struct CuContextHandle;
struct CuStreamHandle;
struct CuEventHandle;
using CuContext = CuContextHandle*;      // CUcontext
using CuStream = CuStreamHandle*;        // CUstream
using CuEvent = CuEventHandle*;          // CUevent
using CuHostFunction = void (*)(void*);  // CUhostFn

struct CuUuid {  // CUuuid
  char bytes[16];
};

constexpr CuResult kCudaSuccess = 0;           // CUDA_SUCCESS
constexpr CuResult kCudaNotReady = 600;        // CUDA_ERROR_NOT_READY
constexpr unsigned kMemHostAllocPortable = 1;  // CU_MEMHOSTALLOC_PORTABLE: pinned for every context
constexpr unsigned kStreamNonBlocking = 1;     // CU_STREAM_NON_BLOCKING: does not wait for the legacy default stream
constexpr unsigned kEventBlockingSync = 1;     // CU_EVENT_BLOCKING_SYNC: waiting threads sleep
constexpr unsigned kEventDisableTiming = 2;    // CU_EVENT_DISABLE_TIMING

class Cuda {
 public:
  explicit Cuda(const std::vector<std::string>& candidates) : library(candidates) {}

  DynamicLibrary library;

  // "Initialization", "Version Management", "Error Handling". CUDA 2.0; the texts of errors 6.0.
  Function<CuResult(unsigned flags)> init{library, "cuInit"};
  Function<CuResult(int* version)> driverGetVersion{library, "cuDriverGetVersion"};
  Function<CuResult(CuResult error, const char** text)> getErrorName{library, "cuGetErrorName"};
  Function<CuResult(CuResult error, const char** text)> getErrorString{library, "cuGetErrorString"};

  // "Device Management". CUDA 2.0; cuDeviceGetUuid 9.2, cuDeviceGetPCIBusId 4.1.
  Function<CuResult(int* count)> deviceGetCount{library, "cuDeviceGetCount"};
  Function<CuResult(CuDevice* device, int ordinal)> deviceGet{library, "cuDeviceGet"};
  Function<CuResult(char* name, int length, CuDevice device)> deviceGetName{library, "cuDeviceGetName"};
  Function<CuResult(CuUuid* uuid, CuDevice device)> deviceGetUuid{library, "cuDeviceGetUuid"};
  Function<CuResult(char* id, int length, CuDevice device)> deviceGetPciBusId{library, "cuDeviceGetPCIBusId"};
  Function<CuResult(std::size_t* bytes, CuDevice device)> deviceTotalMem{library, "cuDeviceTotalMem_v2"};

  // "Primary Context Management", "Context Management". CUDA 7.0; cuCtxSetCurrent 4.0.
  Function<CuResult(CuContext* context, CuDevice device)> primaryContextRetain{library, "cuDevicePrimaryCtxRetain"};
  Function<CuResult(CuContext context)> setCurrentContext{library, "cuCtxSetCurrent"};

  // "Memory Management". CUDA 3.2 (the _v2 names); cuMemHostAlloc 2.2, cuMemsetD8Async 3.2.
  Function<CuResult(CuPointer* memory, std::size_t bytes)> memAlloc{library, "cuMemAlloc_v2"};
  Function<CuResult(CuPointer memory)> memFree{library, "cuMemFree_v2"};
  Function<CuResult(void** memory, std::size_t bytes, unsigned flags)> memHostAlloc{library, "cuMemHostAlloc"};
  Function<CuResult(void* memory)> memFreeHost{library, "cuMemFreeHost"};
  Function<CuResult(CuPointer to, const void* from, std::size_t bytes, CuStream)> memcpyHostToDevice{
      library, "cuMemcpyHtoDAsync_v2"};
  Function<CuResult(void* to, CuPointer from, std::size_t bytes, CuStream)> memcpyDeviceToHost{
      library, "cuMemcpyDtoHAsync_v2"};
  Function<CuResult(CuPointer to, CuPointer from, std::size_t bytes, CuStream)> memcpyDeviceToDevice{
      library, "cuMemcpyDtoDAsync_v2"};
  Function<CuResult(CuPointer to, unsigned char value, std::size_t count, CuStream)> memset8{library, "cuMemsetD8Async"};

  // "Stream Management", "Event Management", "Execution Control". CUDA 2.0; cuStreamWaitEvent 3.2, the _v2
  // destroy functions 4.0, cuLaunchHostFunc 10.0.
  Function<CuResult(CuStream* stream, unsigned flags)> streamCreate{library, "cuStreamCreate"};
  Function<CuResult(CuStream)> streamDestroy{library, "cuStreamDestroy_v2"};
  Function<CuResult(CuStream, CuEvent, unsigned flags)> streamWaitEvent{library, "cuStreamWaitEvent"};
  Function<CuResult(CuEvent* event, unsigned flags)> eventCreate{library, "cuEventCreate"};
  Function<CuResult(CuEvent, CuStream)> eventRecord{library, "cuEventRecord"};
  Function<CuResult(CuEvent)> eventQuery{library, "cuEventQuery"};
  Function<CuResult(CuEvent)> eventDestroy{library, "cuEventDestroy_v2"};
  Function<CuResult(CuStream, CuHostFunction, void* data)> launchHostFunction{library, "cuLaunchHostFunc"};

  // The reason why it cannot be used; empty if it can. Determined once per process, by initialization.
  const std::string& problem() const { return problem_; }

  // The driver of this process; the first call opens it.
  static const Cuda& ofProcess();

  // Calls a function. Throws a System failure with its name, `about`, and CUDA's error text.
  template <typename... Parameters, typename... Arguments>
  void call(const Function<CuResult(Parameters...)>& function, const std::string& about, Arguments... arguments) const {
    const CuResult result = function(arguments...);
    if (result != kCudaSuccess) throwError(function.name(), about, result);
  }

  // "CUDA_ERROR_OUT_OF_MEMORY: out of memory (2)"
  std::string describe(CuResult result) const;

 private:
  std::string findProblem() const;
  [[noreturn]] void throwError(const char* function, const std::string& about, CuResult result) const;

  std::string problem_ = findProblem();
};

}  // namespace ringrun
