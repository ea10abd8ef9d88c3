#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <utility>

#include "fake_gpu.h"

// What other fakes call in the fake driver.

namespace fake_gpu {

template <typename Pointer>
Pointer ofDriver(const char* name) {
  static void* const library = ::dlopen(std::getenv("RINGRUN_CUDA_LIBRARY"), RTLD_NOW);
  return reinterpret_cast<Pointer>(::dlsym(library, name));
}

// Adds work to a stream, or to the graph that it captures. Returns an error of CUresult.
inline int enqueue(FakeStream* stream, std::function<void()> task) {
  static const auto function = ofDriver<FakeEnqueue>("fakeGpuEnqueue");
  return function(stream, &task);
}

// Where the host can access bytes on a GPU; null if they are not allocated.
inline std::uint8_t* hostAddress(const void* onDevice, std::size_t bytes) {
  static const auto function = ofDriver<FakeHostAddress>("fakeGpuHostAddress");
  return static_cast<std::uint8_t*>(function(onDevice, bytes));
}

inline bool isCapturing(FakeStream* stream) {
  static const auto function = ofDriver<FakeIsCapturing>("fakeGpuIsCapturing");
  return function(stream) != 0;
}

}  // namespace fake_gpu
