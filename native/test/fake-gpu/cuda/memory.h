#pragma once

#include <cstddef>
#include <cstdint>

namespace fake_cuda {

// Memory "on the GPU" has two addresses: the returned one, which can be read and written only while kernels run, and the one
// that copies use. So host code that dereferences it crashes.

// The address for copies of bytes on the GPU; null if they are not allocated.
std::uint8_t* hostAddressOf(const void* onDevice, std::size_t bytes);

// True for page-locked memory.
bool isPinned(const void* address, std::size_t bytes);

// Kernels may dereference device addresses while one of these exists.
class OpenMemory {
 public:
  OpenMemory();
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;
  ~OpenMemory();
};

// Waits until no stream has work, as the real cuMemFree does (streams.cc).
void awaitAllStreams();

}  // namespace fake_cuda
