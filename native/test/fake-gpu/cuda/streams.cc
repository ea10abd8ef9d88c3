// Streams, events, and the work that copies and fills memory.
#include "cuda/streams.h"

#include <unistd.h>

#include <set>
#include <thread>

#include "cuda/captures.h"
#include "cuda/driver.h"
#include "cuda/memory.h"

namespace fake_cuda {
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
    const Task task = std::move(stream->tasks.front());
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

void awaitStream(FakeStream& stream) {
  std::unique_lock<std::mutex> lock(stream.mutex);
  stream.changed.wait(lock, [&] { return stream.tasks.empty() && !stream.isBusy; });
}

}  // namespace

void Point::pass() {
  const std::lock_guard<std::mutex> lock(mutex_);
  passed_ = true;
  time_ = std::chrono::steady_clock::now();
  changed_.notify_all();
}

void Point::await() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return passed_; });
}

bool Point::hasPassed() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return passed_;
}

std::chrono::steady_clock::time_point Point::time() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return time_;
}

void enqueueNow(FakeStream* given, Task task) {
  FakeStream* const stream = given == nullptr ? defaultStream() : given;
  const std::lock_guard<std::mutex> lock(stream->mutex);
  stream->tasks.push_back(std::move(task));
  stream->changed.notify_all();
}

int enqueue(FakeStream* stream, Task task) {
  if (stream != nullptr) {
    if (const auto error = captureInstead(*stream, task)) return *error;
  }
  enqueueNow(stream, std::move(task));
  return kSuccess;
}

void awaitAllStreams() {
  std::set<std::shared_ptr<FakeStream>> all;
  {
    const std::lock_guard<std::mutex> lock(streams().mutex);
    all = streams().all;
  }
  for (const auto& stream : all) awaitStream(*stream);
}

}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_GPU_EXPORT int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, FakeStream* stream) {
  FAKE_GPU_CALL_IN_CONTEXT("cuMemcpyHtoDAsync_v2");
  std::uint8_t* const target = hostAddressOf(reinterpret_cast<void*>(to), bytes);
  if (target == nullptr) return kIllegalAddress;
  // A real driver accepts pageable memory and blocks: here that is an error.
  if (!isPinned(from, bytes)) return kInvalidValue;
  // Later than the call, so that a missing event shows.
  const char* const delay = std::getenv("RINGRUN_FAKE_GPU_UPLOAD_MS");
  const unsigned delayMs = delay == nullptr ? 0 : static_cast<unsigned>(std::atoi(delay));
  return enqueue(stream, [=] {
    if (delayMs > 0) ::usleep(delayMs * 1000);
    std::memcpy(target, from, bytes);
  });
}

FAKE_GPU_EXPORT int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, FakeStream* stream) {
  FAKE_GPU_CALL_IN_CONTEXT("cuMemcpyDtoHAsync_v2");
  const std::uint8_t* const source = hostAddressOf(reinterpret_cast<void*>(from), bytes);
  if (source == nullptr) return kIllegalAddress;
  if (!isPinned(to, bytes)) return kInvalidValue;
  return enqueue(stream, [=] { std::memcpy(to, source, bytes); });
}

FAKE_GPU_EXPORT int cuMemcpyDtoDAsync_v2(std::uint64_t to, std::uint64_t from, std::size_t bytes, FakeStream* stream) {
  FAKE_GPU_CALL_IN_CONTEXT("cuMemcpyDtoDAsync_v2");
  std::uint8_t* const target = hostAddressOf(reinterpret_cast<void*>(to), bytes);
  const std::uint8_t* const source = hostAddressOf(reinterpret_cast<void*>(from), bytes);
  if (target == nullptr || source == nullptr) return kIllegalAddress;
  return enqueue(stream, [=] { std::memmove(target, source, bytes); });
}

FAKE_GPU_EXPORT int cuMemsetD8Async(std::uint64_t to, unsigned char value, std::size_t count, FakeStream* stream) {
  FAKE_GPU_CALL_IN_CONTEXT("cuMemsetD8Async");
  std::uint8_t* const target = hostAddressOf(reinterpret_cast<void*>(to), count);
  if (target == nullptr) return kIllegalAddress;
  return enqueue(stream, [=] { std::memset(target, value, count); });
}

FAKE_GPU_EXPORT int cuStreamCreate(FakeStream** stream, unsigned) {
  FAKE_GPU_CALL_IN_CONTEXT("cuStreamCreate");
  const auto made = std::make_shared<FakeStream>();
  made->device = currentDevice();
  *stream = start(made);
  return kSuccess;
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
  return kSuccess;
}

FAKE_GPU_EXPORT int cuStreamSynchronize(FakeStream* stream) {
  FAKE_GPU_UNSAFE_CALL("cuStreamSynchronize");
  awaitStream(stream == nullptr ? *defaultStream() : *stream);
  return errorOf(currentDevice());
}

FAKE_GPU_EXPORT int cuEventCreate(FakeEvent** event, unsigned flags) {
  FAKE_GPU_CALL_IN_CONTEXT("cuEventCreate");
  *event = new FakeEvent;
  (*event)->hasTiming = (flags & 2) == 0;
  return kSuccess;
}

FAKE_GPU_EXPORT int cuEventDestroy_v2(FakeEvent* event) {
  FAKE_GPU_CALL_IN_CONTEXT("cuEventDestroy_v2");
  delete event;
  return kSuccess;
}

FAKE_GPU_EXPORT int cuEventRecord(FakeEvent* event, FakeStream* stream) {
  FAKE_GPU_CALL_IN_CONTEXT("cuEventRecord");
  if (stream != nullptr && captureRecord(*event, *stream)) return kSuccess;
  const auto point = std::make_shared<Point>();
  {
    const std::lock_guard<std::mutex> lock(event->mutex);
    event->point = point;
  }
  enqueueNow(stream, [point] { point->pass(); });
  return kSuccess;
}

FAKE_GPU_EXPORT int cuEventQuery(FakeEvent* event) {
  FAKE_GPU_UNSAFE_CALL("cuEventQuery");
  if (const std::optional<int> refusal = refusalOfCaptured(*event)) return *refusal;
  const std::lock_guard<std::mutex> lock(event->mutex);
  return event->point == nullptr || event->point->hasPassed() ? kSuccess : kNotReady;
}

FAKE_GPU_EXPORT int cuEventSynchronize(FakeEvent* event) {
  FAKE_GPU_UNSAFE_CALL("cuEventSynchronize");
  if (const std::optional<int> refusal = refusalOfCaptured(*event)) return *refusal;
  std::shared_ptr<Point> point;
  {
    const std::lock_guard<std::mutex> lock(event->mutex);
    point = event->point;
  }
  if (point != nullptr) point->await();
  return errorOf(currentDevice());
}

FAKE_GPU_EXPORT int cuEventElapsedTime(float* milliseconds, FakeEvent* from, FakeEvent* to) {
  FAKE_GPU_CALL_IN_CONTEXT("cuEventElapsedTime");
  if (!from->hasTiming || !to->hasTiming || from->point == nullptr || to->point == nullptr) return kInvalidHandle;
  if (!from->point->hasPassed() || !to->point->hasPassed()) return kNotReady;
  *milliseconds = std::chrono::duration<float, std::milli>(to->point->time() - from->point->time()).count();
  return kSuccess;
}

FAKE_GPU_EXPORT int cuStreamWaitEvent(FakeStream* stream, FakeEvent* event, unsigned) {
  FAKE_GPU_CALL_IN_CONTEXT("cuStreamWaitEvent");
  if (stream != nullptr) {
    if (const auto error = captureWait(*stream, *event)) return *error;
  }
  std::shared_ptr<Point> point;
  {
    const std::lock_guard<std::mutex> lock(event->mutex);
    point = event->point;
  }
  if (point != nullptr) enqueueNow(stream, [point] { point->await(); });
  return kSuccess;
}

FAKE_GPU_EXPORT int cuLaunchHostFunc(FakeStream* stream, void (*function)(void*), void* data) {
  FAKE_GPU_CALL_IN_CONTEXT("cuLaunchHostFunc");
  return enqueue(stream, [=] { function(data); });
}

FAKE_GPU_EXPORT int fakeGpuEnqueue(FakeStream* stream, std::function<void()>* task) { return enqueue(stream, std::move(*task)); }

FAKE_GPU_EXPORT int fakeGpuIsCapturing(FakeStream* stream) { return stream != nullptr && isCapturing(*stream) ? 1 : 0; }
