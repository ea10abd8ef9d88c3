#include "cuda/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <mutex>

#include "cuda/driver.h"

namespace fake_cuda {
namespace {

struct Allocation {
  std::uint8_t* host;
  std::size_t bytes;
  int device;
};

struct Memory {
  std::mutex mutex;
  std::map<std::uint8_t*, Allocation> onDevice;
  std::map<std::uint8_t*, std::size_t> pinned;
  int opened = 0;  // number of OpenMemory, without protection keys
};

Memory& memory() {
  static Memory* const all = new Memory;
  return *all;
}

constexpr int kReadWrite = PROT_READ | PROT_WRITE;

// The protection key of memory on GPUs, which each thread opens for itself; negative if the processor has none. Without it, kernels
// open all memory for all threads, with a call of the kernel of the system for each allocation.
int protectionKey() {
  static const int key = ::pkey_alloc(0, PKEY_DISABLE_ACCESS);
  return key;
}

// Number of OpenMemory of this thread, with a protection key.
thread_local int openedHere = 0;

void protectAll(const Memory& all, int protection) {
  for (const auto& [address, allocation] : all.onDevice) ::mprotect(address, allocation.bytes, protection);
}

std::size_t pagesOf(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

std::size_t usedBytes(const Memory& all, int device) {
  std::size_t bytes = 0;
  for (const auto& [address, allocation] : all.onDevice) bytes += allocation.device == device ? allocation.bytes : 0;
  return bytes;
}

// The allocation that has all of the bytes, or null.
template <typename Allocations>
auto allocationWith(Allocations& allocations, const void* address) {
  auto next = allocations.upper_bound(static_cast<std::uint8_t*>(const_cast<void*>(address)));
  return next == allocations.begin() ? allocations.end() : --next;
}

}  // namespace

std::uint8_t* hostAddressOf(const void* address, std::size_t bytes) {
  Memory& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = allocationWith(all.onDevice, address);
  if (found == all.onDevice.end()) return nullptr;
  const auto offset = static_cast<std::size_t>(static_cast<const std::uint8_t*>(address) - found->first);
  return offset + bytes <= found->second.bytes ? found->second.host + offset : nullptr;
}

bool isPinned(const void* address, std::size_t bytes) {
  Memory& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = allocationWith(all.pinned, address);
  return found != all.pinned.end() && static_cast<const std::uint8_t*>(address) + bytes <= found->first + found->second;
}

OpenMemory::OpenMemory() {
  if (protectionKey() >= 0) {
    if (openedHere++ == 0) ::pkey_set(protectionKey(), 0);
    return;
  }
  Memory& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.opened++ == 0) protectAll(all, kReadWrite);
}

OpenMemory::~OpenMemory() {
  if (protectionKey() >= 0) {
    if (--openedHere == 0) ::pkey_set(protectionKey(), PKEY_DISABLE_ACCESS);
    return;
  }
  Memory& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (--all.opened == 0) protectAll(all, PROT_NONE);
}

}  // namespace fake_cuda

using namespace fake_cuda;

// One page more than needed is reserved, so that a kernel that writes behind its memory crashes.
FAKE_GPU_EXPORT int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  FAKE_GPU_UNSAFE_CALL("cuMemAlloc_v2");
  if (bytes == 0) return kInvalidValue;
  Memory& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (bytes > kDeviceBytes - usedBytes(all, currentDevice())) return kOutOfMemory;
  const std::size_t mapped = pagesOf(bytes);
  const int file = ::memfd_create("fake-gpu-memory", MFD_CLOEXEC);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(mapped)) != 0) return kOutOfMemory;
  void* const host = ::mmap(nullptr, mapped, kReadWrite, MAP_SHARED, file, 0);
  void* const reserved = ::mmap(nullptr, mapped + pagesOf(1), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  void* const onDevice = ::mmap(reserved, mapped, PROT_NONE, MAP_SHARED | MAP_FIXED, file, 0);
  ::close(file);
  if (protectionKey() >= 0) ::pkey_mprotect(onDevice, mapped, kReadWrite, protectionKey());
  else if (all.opened > 0) ::mprotect(onDevice, mapped, kReadWrite);
  if (host == MAP_FAILED || reserved == MAP_FAILED || onDevice == MAP_FAILED) return kOutOfMemory;
  // New memory of a real GPU has undefined contents: NaN, and −1.
  std::memset(host, 0xff, bytes);
  all.onDevice[static_cast<std::uint8_t*>(onDevice)] = {static_cast<std::uint8_t*>(host), bytes, currentDevice()};
  *address = reinterpret_cast<std::uint64_t>(onDevice);
  return kSuccess;
}

FAKE_GPU_EXPORT int cuMemFree_v2(std::uint64_t address) {
  FAKE_GPU_UNSAFE_CALL("cuMemFree_v2");
  awaitAllStreams();
  Memory& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.onDevice.find(reinterpret_cast<std::uint8_t*>(address));
  if (found == all.onDevice.end()) return kInvalidValue;
  const std::size_t mapped = pagesOf(found->second.bytes);
  ::munmap(found->first, mapped + pagesOf(1));
  ::munmap(found->second.host, mapped);
  all.onDevice.erase(found);
  return kSuccess;
}

FAKE_GPU_EXPORT int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  FAKE_GPU_CALL_IN_CONTEXT("cuMemGetInfo_v2");
  const std::lock_guard<std::mutex> lock(memory().mutex);
  *total = kDeviceBytes;
  *free = kDeviceBytes - usedBytes(memory(), currentDevice());
  return kSuccess;
}

FAKE_GPU_EXPORT int cuMemHostAlloc(void** address, std::size_t bytes, unsigned) {
  FAKE_GPU_UNSAFE_CALL("cuMemHostAlloc");
  if (bytes == 0) return kInvalidValue;
  *address = ::mmap(nullptr, bytes, kReadWrite, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(*address, 0xee, bytes);
  const std::lock_guard<std::mutex> lock(memory().mutex);
  memory().pinned[static_cast<std::uint8_t*>(*address)] = bytes;
  return kSuccess;
}

FAKE_GPU_EXPORT int cuMemFreeHost(void* address) {
  FAKE_GPU_UNSAFE_CALL("cuMemFreeHost");
  awaitAllStreams();
  const std::lock_guard<std::mutex> lock(memory().mutex);
  const auto found = memory().pinned.find(static_cast<std::uint8_t*>(address));
  if (found == memory().pinned.end()) return kInvalidValue;
  ::munmap(found->first, found->second);
  memory().pinned.erase(found);
  return kSuccess;
}

FAKE_GPU_EXPORT void* fakeGpuHostAddress(const void* onDevice, std::size_t bytes) { return hostAddressOf(onDevice, bytes); }
