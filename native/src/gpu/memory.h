#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/device.h"

namespace ringrun {

// Memory on a GPU. Freed with its owner, unless leak() was called: freeing waits for the GPU, which after a
// failure may never become idle.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  // Throws Failure. The device must be current and outlive the memory.
  DeviceMemory(const Device& device, std::size_t bytes);
  DeviceMemory(DeviceMemory&& other) noexcept;
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();

  // The device address; only the GPU can dereference it.
  std::uint8_t* data() const { return reinterpret_cast<std::uint8_t*>(address_); }
  std::size_t bytes() const { return bytes_; }
  void leak() { address_ = 0; }

 private:
  CuPointer address_ = 0;
  std::size_t bytes_ = 0;
  const Device* device_ = nullptr;
};

// Page-locked host memory, which a GPU copies from and to asynchronously. isPinned() detects it.
class PinnedMemory {
 public:
  PinnedMemory() = default;
  // Throws Failure. Zeroed.
  PinnedMemory(const Device& device, std::size_t bytes);
  PinnedMemory(PinnedMemory&& other) noexcept;
  PinnedMemory& operator=(PinnedMemory&& other) noexcept;
  ~PinnedMemory();

  std::uint8_t* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  void leak() { data_ = nullptr; }

 private:
  std::uint8_t* data_ = nullptr;
  std::size_t bytes_ = 0;
  const Device* device_ = nullptr;
};

// True if [data, data + bytes) lies in a PinnedMemory of this process. May be called by any thread.
bool isPinned(const void* data, std::size_t bytes);

}  // namespace ringrun
