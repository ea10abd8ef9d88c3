// A fake CUDA driver (libcuda.so.1): see fake_gpu.h. Signatures are those of the CUDA driver API, error numbers
// those of CUresult.
#include <sys/mman.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "fake_gpu.h"

namespace {

constexpr int kInvalidValue = 1;
constexpr int kInvalidContext = 201;
constexpr int kNotReady = 600;
constexpr int kIllegalAddress = 700;

using fake_gpu::faultOf;
using fake_gpu::hang;
using fake_gpu::isNumber;

// Memory "on the GPU" has two addresses: the returned one, which cannot be read or written, and the one that
// copies use. So host code that dereferences it crashes.
struct Allocation {
  std::uint8_t* host;
  std::size_t bytes;
};

struct Memory {
  std::mutex mutex;
  std::map<std::uint8_t*, Allocation> onDevice;
  std::map<std::uint8_t*, std::size_t> pinned;
};

Memory& memory() {
  static Memory* const all = new Memory;
  return *all;
}

thread_local void* currentContext = nullptr;

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

std::uint8_t* hostAddressOf(const void* address, std::size_t bytes) {
  Memory& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  auto* const begin = static_cast<std::uint8_t*>(const_cast<void*>(address));
  auto next = all.onDevice.upper_bound(begin);
  if (next == all.onDevice.begin()) return nullptr;
  --next;
  const std::size_t offset = static_cast<std::size_t>(begin - next->first);
  return offset + bytes <= next->second.bytes ? next->second.host + offset : nullptr;
}

// A real driver accepts pageable memory and blocks: here that is an error.
bool isPinned(const void* address, std::size_t bytes) {
  Memory& all = memory();
  const std::lock_guard<std::mutex> lock(all.mutex);
  auto* const begin = static_cast<std::uint8_t*>(const_cast<void*>(address));
  auto next = all.pinned.upper_bound(begin);
  if (next == all.pinned.begin()) return false;
  --next;
  return begin + bytes <= next->first + next->second;
}

}  // namespace

struct FakeStream {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  bool ending = false;
  bool isBusy = false;
};

struct FakeEvent {
  std::mutex mutex;
  std::shared_ptr<std::atomic<bool>> passed;  // guarded by mutex; null before the first record
};

namespace {

struct Streams {
  std::mutex mutex;
  std::set<std::shared_ptr<FakeStream>> all;
};

Streams& streams() {
  static Streams* const all = new Streams;
  return *all;
}

void run(const std::shared_ptr<FakeStream>& stream) {
  std::unique_lock<std::mutex> lock(stream->mutex);
  for (;;) {
    stream->changed.wait(lock, [&] { return stream->ending || !stream->tasks.empty(); });
    if (stream->tasks.empty()) return;
    const std::function<void()> task = std::move(stream->tasks.front());
    stream->tasks.pop_front();
    stream->isBusy = true;
    lock.unlock();
    task();
    lock.lock();
    stream->isBusy = false;
    stream->changed.notify_all();
  }
}

FakeStream* start(const std::shared_ptr<FakeStream>& stream) {
  {
    const std::lock_guard<std::mutex> lock(streams().mutex);
    streams().all.insert(stream);
  }
  std::thread([stream] { run(stream); }).detach();
  return stream.get();
}

// The default stream, which exists without creation. It is busy for RINGRUN_FAKE_GPU_BUSY_MS at first.
FakeStream* defaultStream() {
  static FakeStream* const stream = [] {
    const auto made = std::make_shared<FakeStream>();
    const char* const busy = std::getenv("RINGRUN_FAKE_GPU_BUSY_MS");
    const unsigned busyMs = busy == nullptr ? 0 : static_cast<unsigned>(std::atoi(busy));
    made->tasks.push_back([busyMs] { ::usleep(busyMs * 1000); });
    return start(made);
  }();
  return stream;
}

void enqueue(FakeStream* given, std::function<void()> task) {
  FakeStream* const stream = given == nullptr ? defaultStream() : given;
  const std::lock_guard<std::mutex> lock(stream->mutex);
  stream->tasks.push_back(std::move(task));
  stream->changed.notify_all();
}

// Waits for the GPU, as the real cuMemFree does.
void awaitAll() {
  std::set<std::shared_ptr<FakeStream>> all;
  {
    const std::lock_guard<std::mutex> lock(streams().mutex);
    all = streams().all;
  }
  for (const auto& stream : all) {
    std::unique_lock<std::mutex> lock(stream->mutex);
    stream->changed.wait(lock, [&] { return stream->tasks.empty() && !stream->isBusy; });
  }
}

}  // namespace

// The fault of this call, if any, or the error of a call without a current context.
#define FAKE_GPU_CALL(name)                                      \
  if (const std::string what = faultOf(name); !what.empty()) {   \
    if (what == "hang") hang();                                  \
    if (isNumber(what)) return std::atoi(what.c_str());          \
  }
#define FAKE_GPU_CALL_IN_CONTEXT(name) \
  FAKE_GPU_CALL(name)                  \
  if (currentContext == nullptr) return kInvalidContext;

FAKE_GPU_EXPORT int cuInit(unsigned) {
  FAKE_GPU_CALL("cuInit");
  return 0;
}

FAKE_GPU_EXPORT int cuDriverGetVersion(int* version) {
  *version = 12040;
  return 0;
}

FAKE_GPU_EXPORT int cuGetErrorName(int error, const char** text) {
  *text = error == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_INJECTED";
  return 0;
}

FAKE_GPU_EXPORT int cuGetErrorString(int error, const char** text) {
  *text = error == 2 ? "out of memory" : "an error injected by the fake CUDA driver";
  return 0;
}

FAKE_GPU_EXPORT int cuDeviceGetCount(int* count) {
  FAKE_GPU_CALL("cuDeviceGetCount");
  *count = static_cast<int>(visibleDevices().size());
  return 0;
}

FAKE_GPU_EXPORT int cuDeviceGet(int* device, int ordinal) {
  FAKE_GPU_CALL("cuDeviceGet");
  const std::vector<int> visible = visibleDevices();
  if (ordinal < 0 || ordinal >= static_cast<int>(visible.size())) return 101;
  *device = visible[static_cast<std::size_t>(ordinal)];
  return 0;
}

FAKE_GPU_EXPORT int cuDeviceGetName(char* name, int length, int) {
  FAKE_GPU_CALL("cuDeviceGetName");
  std::snprintf(name, static_cast<std::size_t>(length), "fake GPU");
  return 0;
}

FAKE_GPU_EXPORT int cuDeviceGetUuid(void* uuid, int device) {
  FAKE_GPU_CALL("cuDeviceGetUuid");
  std::memset(uuid, 0x5a, 16);
  static_cast<char*>(uuid)[15] = static_cast<char>(device);
  return 0;
}

FAKE_GPU_EXPORT int cuDeviceGetPCIBusId(char* id, int length, int device) {
  FAKE_GPU_CALL("cuDeviceGetPCIBusId");
  std::snprintf(id, static_cast<std::size_t>(length), "00000000:%02x:00.0", device);
  return 0;
}

FAKE_GPU_EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  FAKE_GPU_CALL("cuDeviceTotalMem_v2");
  *bytes = std::size_t{16} << 30;
  return 0;
}

FAKE_GPU_EXPORT int cuDevicePrimaryCtxRetain(void** context, int device) {
  FAKE_GPU_CALL("cuDevicePrimaryCtxRetain");
  *context = reinterpret_cast<void*>(static_cast<std::uintptr_t>(device) + 1);
  return 0;
}

FAKE_GPU_EXPORT int cuCtxSetCurrent(void* context) {
  FAKE_GPU_CALL("cuCtxSetCurrent");
  currentContext = context;
  return 0;
}

FAKE_GPU_EXPORT int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  FAKE_GPU_CALL_IN_CONTEXT("cuMemAlloc_v2");
  if (bytes == 0) return kInvalidValue;
  void* const host = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* const onDevice = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  // New memory of a real GPU has undefined contents.
  std::memset(host, 0xee, bytes);
  const std::lock_guard<std::mutex> lock(memory().mutex);
  memory().onDevice[static_cast<std::uint8_t*>(onDevice)] = {static_cast<std::uint8_t*>(host), bytes};
  *address = reinterpret_cast<std::uint64_t>(onDevice);
  return 0;
}

FAKE_GPU_EXPORT int cuMemFree_v2(std::uint64_t address) {
  FAKE_GPU_CALL_IN_CONTEXT("cuMemFree_v2");
  awaitAll();
  const std::lock_guard<std::mutex> lock(memory().mutex);
  const auto found = memory().onDevice.find(reinterpret_cast<std::uint8_t*>(address));
  if (found == memory().onDevice.end()) return kInvalidValue;
  ::munmap(found->first, found->second.bytes);
  ::munmap(found->second.host, found->second.bytes);
  memory().onDevice.erase(found);
  return 0;
}

FAKE_GPU_EXPORT int cuMemHostAlloc(void** address, std::size_t bytes, unsigned) {
  FAKE_GPU_CALL_IN_CONTEXT("cuMemHostAlloc");
  if (bytes == 0) return kInvalidValue;
  *address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memset(*address, 0xee, bytes);
  const std::lock_guard<std::mutex> lock(memory().mutex);
  memory().pinned[static_cast<std::uint8_t*>(*address)] = bytes;
  return 0;
}

FAKE_GPU_EXPORT int cuMemFreeHost(void* address) {
  FAKE_GPU_CALL_IN_CONTEXT("cuMemFreeHost");
  awaitAll();
  const std::lock_guard<std::mutex> lock(memory().mutex);
  const auto found = memory().pinned.find(static_cast<std::uint8_t*>(address));
  if (found == memory().pinned.end()) return kInvalidValue;
  ::munmap(found->first, found->second);
  memory().pinned.erase(found);
  return 0;
}

FAKE_GPU_EXPORT int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, FakeStream* stream) {
  FAKE_GPU_CALL_IN_CONTEXT("cuMemcpyHtoDAsync_v2");
  std::uint8_t* const target = hostAddressOf(reinterpret_cast<void*>(to), bytes);
  if (target == nullptr) return kIllegalAddress;
  if (!isPinned(from, bytes)) return kInvalidValue;
  enqueue(stream, [=] { std::memcpy(target, from, bytes); });
  return 0;
}

FAKE_GPU_EXPORT int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, FakeStream* stream) {
  FAKE_GPU_CALL_IN_CONTEXT("cuMemcpyDtoHAsync_v2");
  const std::uint8_t* const source = hostAddressOf(reinterpret_cast<void*>(from), bytes);
  if (source == nullptr) return kIllegalAddress;
  if (!isPinned(to, bytes)) return kInvalidValue;
  enqueue(stream, [=] { std::memcpy(to, source, bytes); });
  return 0;
}

FAKE_GPU_EXPORT int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, FakeStream* stream) {
  FAKE_GPU_CALL_IN_CONTEXT("cuMemcpyDtoDAsync_v2");
  std::uint8_t* const target = hostAddressOf(reinterpret_cast<void*>(to), bytes);
  const std::uint8_t* const source = hostAddressOf(reinterpret_cast<void*>(from), bytes);
  if (target == nullptr || source == nullptr) return kIllegalAddress;
  enqueue(stream, [=] { std::memmove(target, source, bytes); });
  return 0;
}

FAKE_GPU_EXPORT int cuMemsetD8Async(std::uint64_t to, unsigned char value, std::size_t count, FakeStream* stream) {
  FAKE_GPU_CALL_IN_CONTEXT("cuMemsetD8Async");
  std::uint8_t* const target = hostAddressOf(reinterpret_cast<void*>(to), count);
  if (target == nullptr) return kIllegalAddress;
  enqueue(stream, [=] { std::memset(target, value, count); });
  return 0;
}

FAKE_GPU_EXPORT int cuStreamCreate(FakeStream** stream, unsigned) {
  FAKE_GPU_CALL_IN_CONTEXT("cuStreamCreate");
  *stream = start(std::make_shared<FakeStream>());
  return 0;
}

// Enqueued work still runs.
FAKE_GPU_EXPORT int cuStreamDestroy_v2(FakeStream* stream) {
  FAKE_GPU_CALL_IN_CONTEXT("cuStreamDestroy_v2");
  std::shared_ptr<FakeStream> owned;
  {
    const std::lock_guard<std::mutex> lock(streams().mutex);
    for (const auto& one : streams().all) {
      if (one.get() == stream) owned = one;
    }
    if (!owned) return kInvalidValue;
    streams().all.erase(owned);
  }
  const std::lock_guard<std::mutex> lock(owned->mutex);
  owned->ending = true;
  owned->changed.notify_all();
  return 0;
}

FAKE_GPU_EXPORT int cuEventCreate(FakeEvent** event, unsigned) {
  FAKE_GPU_CALL_IN_CONTEXT("cuEventCreate");
  *event = new FakeEvent;
  return 0;
}

FAKE_GPU_EXPORT int cuEventDestroy_v2(FakeEvent* event) {
  FAKE_GPU_CALL_IN_CONTEXT("cuEventDestroy_v2");
  delete event;
  return 0;
}

FAKE_GPU_EXPORT int cuEventRecord(FakeEvent* event, FakeStream* stream) {
  FAKE_GPU_CALL_IN_CONTEXT("cuEventRecord");
  const auto passed = std::make_shared<std::atomic<bool>>(false);
  {
    const std::lock_guard<std::mutex> lock(event->mutex);
    event->passed = passed;
  }
  enqueue(stream, [passed] { passed->store(true); });
  return 0;
}

FAKE_GPU_EXPORT int cuEventQuery(FakeEvent* event) {
  FAKE_GPU_CALL_IN_CONTEXT("cuEventQuery");
  const std::lock_guard<std::mutex> lock(event->mutex);
  return event->passed == nullptr || event->passed->load() ? 0 : kNotReady;
}

FAKE_GPU_EXPORT int cuStreamWaitEvent(FakeStream* stream, FakeEvent* event, unsigned) {
  FAKE_GPU_CALL_IN_CONTEXT("cuStreamWaitEvent");
  std::shared_ptr<std::atomic<bool>> passed;
  {
    const std::lock_guard<std::mutex> lock(event->mutex);
    passed = event->passed;
  }
  if (passed == nullptr) return 0;
  enqueue(stream, [passed] {
    while (!passed->load()) ::usleep(20);
  });
  return 0;
}

FAKE_GPU_EXPORT int cuLaunchHostFunc(FakeStream* stream, void (*function)(void*), void* data) {
  FAKE_GPU_CALL_IN_CONTEXT("cuLaunchHostFunc");
  enqueue(stream, [=] { function(data); });
  return 0;
}

FAKE_GPU_EXPORT void fakeGpuEnqueue(FakeStream* stream, std::function<void()>* task) {
  enqueue(stream, std::move(*task));
}

FAKE_GPU_EXPORT void* fakeGpuHostAddress(const void* onDevice, std::size_t bytes) { return hostAddressOf(onDevice, bytes); }
