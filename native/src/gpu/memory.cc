#include "gpu/memory.h"

#include <cstring>
#include <map>
#include <mutex>
#include <utility>

namespace ringrun {
namespace {

std::string bytesOnDevice(std::size_t bytes, const Device& device) {
  return withThousandsSeparated(bytes) + " bytes for " + device.name();
}

// Start and length of all pinned memory.
struct PinnedRanges {
  std::mutex mutex;
  std::map<const std::uint8_t*, std::size_t> ranges;  // guarded by mutex
};

// Never destroyed: JavaScript objects may be collected after static objects are destroyed.
PinnedRanges& pinnedRanges() {
  static PinnedRanges* const ranges = new PinnedRanges;
  return *ranges;
}

}  // namespace

DeviceMemory::DeviceMemory(const Device& device, std::size_t bytes) : bytes_(bytes), device_(&device) {
  const Cuda& cuda = Cuda::ofProcess();
  cuda.call(cuda.memAlloc, bytesOnDevice(bytes, device), &address_, bytes);
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : address_(std::exchange(other.address_, 0)), bytes_(std::exchange(other.bytes_, 0)), device_(other.device_) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  std::swap(device_, other.device_);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (address_ != 0 && !failureOf([&] { device_->makeCurrent(); })) Cuda::ofProcess().memFree(address_);
}

PinnedMemory::PinnedMemory(const Device& device, std::size_t bytes) : bytes_(bytes), device_(&device) {
  const Cuda& cuda = Cuda::ofProcess();
  void* data = nullptr;
  const std::string about = withThousandsSeparated(bytes) + " bytes of page-locked memory";
  cuda.call(cuda.memHostAlloc, about, &data, bytes, kMemHostAllocPortable);
  data_ = static_cast<std::uint8_t*>(data);
  std::memset(data_, 0, bytes);
  PinnedRanges& pinned = pinnedRanges();
  const std::lock_guard<std::mutex> lock(pinned.mutex);
  pinned.ranges.emplace(data_, bytes);
}

PinnedMemory::PinnedMemory(PinnedMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)), device_(other.device_) {}

PinnedMemory& PinnedMemory::operator=(PinnedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(device_, other.device_);
  return *this;
}

PinnedMemory::~PinnedMemory() {
  if (data_ == nullptr) return;
  {
    PinnedRanges& pinned = pinnedRanges();
    const std::lock_guard<std::mutex> lock(pinned.mutex);
    pinned.ranges.erase(data_);
  }
  if (!failureOf([&] { device_->makeCurrent(); })) Cuda::ofProcess().memFreeHost(data_);
}

bool isPinned(const void* data, std::size_t bytes) {
  const auto* const begin = static_cast<const std::uint8_t*>(data);
  PinnedRanges& pinned = pinnedRanges();
  const std::lock_guard<std::mutex> lock(pinned.mutex);
  auto next = pinned.ranges.upper_bound(begin);
  if (next == pinned.ranges.begin()) return false;
  const auto& [first, length] = *--next;
  return begin + bytes <= first + length;
}

}  // namespace ringrun
