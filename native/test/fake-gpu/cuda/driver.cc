// A fake CUDA driver (libcuda.so.1): see fake_gpu.h. Signatures are those of the CUDA driver API. This file: initialization,
// errors, devices and contexts.
#include "cuda/driver.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <vector>

#include "cuda/memory.h"

namespace fake_cuda {

thread_local void* currentContext = nullptr;

namespace {

constexpr int kMaxDevices = 64;

std::atomic<int>* errors() {
  static std::atomic<int> all[kMaxDevices] = {};
  return all;
}

std::vector<int> visibleDevices() {
  const char* const count = std::getenv("RINGRUN_FAKE_GPU_GPUS");
  std::vector<int> all;
  for (int i = 0; i < (count == nullptr ? 8 : std::atoi(count)); ++i) all.push_back(i);
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return all;
  std::vector<int> chosen;
  for (std::string rest = visible; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::size_t index = static_cast<std::size_t>(std::atoi(rest.substr(0, comma).c_str()));
    if (index >= all.size()) break;
    chosen.push_back(static_cast<int>(index));
    rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
  }
  return chosen;
}

struct ErrorText {
  int error;
  const char* name;
  const char* text;
};

constexpr ErrorText kErrors[] = {
    {kInvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {kOutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {kInvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {kNoBinaryForGpu, "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {kInvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {kIllegalState, "CUDA_ERROR_ILLEGAL_STATE", "the operation cannot be performed in the present state"},
    {kNotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {kIllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {kLaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {kNotSupported, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {kCaptureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
    {kCaptureInvalidated, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "operation failed due to a previous error during capture"},
    {kCaptureMerge, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "operation would result in a merge of separate capture sequences"},
    {kCaptureUnmatched, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "capture was not ended in the same stream as it began"},
    {kCaptureUnjoined, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {kCaptureIsolation, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "dependency created on uncaptured work in another stream"},
    {kCapturedEvent, "CUDA_ERROR_CAPTURED_EVENT", "operation not permitted on an event last recorded in a capturing stream"},
    {kCaptureWrongThread, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "attempt to terminate a thread-local capture sequence from another thread"},
};

const ErrorText& textOf(int error) {
  static constexpr ErrorText kInjected{0, "CUDA_ERROR_INJECTED", "an error injected by the fake CUDA driver"};
  for (const ErrorText& one : kErrors) {
    if (one.error == error) return one;
  }
  return kInjected;
}

}  // namespace

int errorOf(int device) { return errors()[device].load(); }

void fail(int device, int error, const std::string& reason) {
  std::fprintf(stderr, "fake CUDA: %s\n", reason.c_str());
  int none = 0;
  errors()[device].compare_exchange_strong(none, error);
}

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_GPU_EXPORT int cuInit(unsigned) {
  FAKE_GPU_CALL("cuInit");
  return kSuccess;
}

// RINGRUN_FAKE_GPU_VERSION: default 13000.
FAKE_GPU_EXPORT int cuDriverGetVersion(int* version) {
  const char* const given = std::getenv("RINGRUN_FAKE_GPU_VERSION");
  *version = given == nullptr ? 13000 : std::atoi(given);
  return kSuccess;
}

FAKE_GPU_EXPORT int cuGetErrorName(int error, const char** text) {
  *text = textOf(error).name;
  return kSuccess;
}

FAKE_GPU_EXPORT int cuGetErrorString(int error, const char** text) {
  *text = textOf(error).text;
  return kSuccess;
}

FAKE_GPU_EXPORT int cuDeviceGetCount(int* count) {
  FAKE_GPU_CALL("cuDeviceGetCount");
  *count = static_cast<int>(visibleDevices().size());
  return kSuccess;
}

FAKE_GPU_EXPORT int cuDeviceGet(int* device, int ordinal) {
  FAKE_GPU_CALL("cuDeviceGet");
  const std::vector<int> visible = visibleDevices();
  if (ordinal < 0 || ordinal >= static_cast<int>(visible.size())) return 101;
  *device = visible[static_cast<std::size_t>(ordinal)];
  return kSuccess;
}

FAKE_GPU_EXPORT int cuDeviceGetName(char* name, int length, int) {
  FAKE_GPU_CALL("cuDeviceGetName");
  std::snprintf(name, static_cast<std::size_t>(length), "fake GPU");
  return kSuccess;
}

FAKE_GPU_EXPORT int cuDeviceGetUuid(void* uuid, int device) {
  FAKE_GPU_CALL("cuDeviceGetUuid");
  std::memset(uuid, 0x5a, 16);
  static_cast<char*>(uuid)[15] = static_cast<char>(device);
  return kSuccess;
}

FAKE_GPU_EXPORT int cuDeviceGetPCIBusId(char* id, int length, int device) {
  FAKE_GPU_CALL("cuDeviceGetPCIBusId");
  std::snprintf(id, static_cast<std::size_t>(length), "00000000:%02x:00.0", device);
  return kSuccess;
}

FAKE_GPU_EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  FAKE_GPU_CALL("cuDeviceTotalMem_v2");
  *bytes = kDeviceBytes;
  return kSuccess;
}

FAKE_GPU_EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) {
  FAKE_GPU_CALL("cuDeviceGetAttribute");
  switch (attribute) {
    case 1: *value = 1024; return kSuccess;   // MAX_THREADS_PER_BLOCK
    case 16: *value = 132; return kSuccess;   // MULTIPROCESSOR_COUNT
    case 75: *value = kCapabilityMajor; return kSuccess;
    case 76: *value = kCapabilityMinor; return kSuccess;
    case 97: *value = kOptInSharedBytes; return kSuccess;
    default: return kInvalidValue;
  }
}

FAKE_GPU_EXPORT int cuDevicePrimaryCtxRetain(void** context, int device) {
  FAKE_GPU_CALL("cuDevicePrimaryCtxRetain");
  *context = reinterpret_cast<void*>(static_cast<std::uintptr_t>(device) + 1);
  return kSuccess;
}

FAKE_GPU_EXPORT int cuCtxSetCurrent(void* context) {
  FAKE_GPU_CALL("cuCtxSetCurrent");
  currentContext = context;
  return kSuccess;
}
