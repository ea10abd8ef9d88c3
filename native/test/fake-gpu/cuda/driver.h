#pragma once

#include <cstdlib>
#include <string>

#include "fake_gpu.h"

// What the files of the fake CUDA driver share. Error numbers are those of CUresult.

namespace fake_cuda {

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kInvalidImage = 200;
constexpr int kInvalidContext = 201;
constexpr int kNoBinaryForGpu = 209;
constexpr int kInvalidHandle = 400;
constexpr int kNotFound = 500;
constexpr int kIllegalState = 401;
constexpr int kNotReady = 600;
constexpr int kIllegalAddress = 700;
constexpr int kLaunchFailed = 719;
constexpr int kNotSupported = 801;
constexpr int kCaptureUnsupported = 900;
constexpr int kCaptureInvalidated = 901;
constexpr int kCaptureMerge = 902;
constexpr int kCaptureUnmatched = 903;
constexpr int kCaptureUnjoined = 904;
constexpr int kCaptureIsolation = 905;
constexpr int kCapturedEvent = 907;
constexpr int kCaptureWrongThread = 908;

// sm_90
constexpr int kCapabilityMajor = 9;
constexpr int kCapabilityMinor = 0;
constexpr std::size_t kDeviceBytes = std::size_t{16} << 30;
constexpr unsigned kStaticSharedBytes = 48 * 1024;
constexpr unsigned kOptInSharedBytes = 227 * 1024;

// The context of the calling thread: a device + 1, or 0.
extern thread_local void* currentContext;

inline int currentDevice() { return static_cast<int>(reinterpret_cast<std::size_t>(currentContext)) - 1; }

// The error of a device that all calls return after its first kernel failed; 0 before.
int errorOf(int device);
void fail(int device, int error, const std::string& reason);

// True if a capture refuses a call that may wait, by this thread; the capture is then invalid.
bool isRefusedByCapture();

}  // namespace fake_cuda

// The fault of this call, if any, or the error of a call without a current context.
#define FAKE_GPU_CALL(name)                                                 \
  if (const std::string what = fake_gpu::faultOf(name); !what.empty()) {    \
    if (what == "hang") fake_gpu::hang();                                   \
    if (fake_gpu::isNumber(what)) return std::atoi(what.c_str());           \
  }
#define FAKE_GPU_CALL_IN_CONTEXT(name)                                                       \
  FAKE_GPU_CALL(name)                                                                        \
  if (fake_cuda::currentContext == nullptr) return fake_cuda::kInvalidContext;               \
  if (const int error = fake_cuda::errorOf(fake_cuda::currentDevice()); error != 0) return error;
// A call that allocates, frees or waits: refused during captures.
#define FAKE_GPU_UNSAFE_CALL(name)     \
  FAKE_GPU_CALL_IN_CONTEXT(name)       \
  if (fake_cuda::isRefusedByCapture()) return fake_cuda::kCaptureUnsupported;
