#include "gpu/compute_device.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>
#include <type_traits>
#include <utility>

#include "gpu/cuda_compute.h"

namespace ringrun {
namespace {

const Device& usableDevice(int ordinal) {
  const std::string problem = computeProblem();
  if (!problem.empty()) throw Failure(FailureCode::System, {}, problem);
  return Device::at(ordinal);
}

std::string nameOf(const Device& device) {
  constexpr int kMaxName = 256;
  const Cuda& cuda = Cuda::ofProcess();
  char name[kMaxName] = "";
  cuda.call(cuda.deviceGetName, device.name(), name, kMaxName, device.handle());
  return name;
}

int attributeOf(const Device& device, int attribute) {
  const CudaCompute& cuda = CudaCompute::ofProcess();
  int value = 0;
  cuda.call(cuda.deviceGetAttribute, device.name(), &value, attribute, device.handle());
  return value;
}

// Polls for the time of a small step first, because the interrupt that ends a wait takes tens of microseconds to arrive; not where
// other threads need the processor.
void awaitSoon(const Event& event) {
  constexpr auto kPollTime = std::chrono::microseconds(300);
  static const bool hasProcessors = std::thread::hardware_concurrency() >= 4;
  const auto until = std::chrono::steady_clock::now() + kPollTime;
  while (hasProcessors && std::chrono::steady_clock::now() < until) {
    if (event.hasPassed()) return;
  }
  event.await();
}

// Rounded up, so that memory fits later allocations too.
std::size_t roundedUp(std::size_t bytes) {
  constexpr std::size_t kUnit = 512;
  return (std::max<std::size_t>(bytes, 1) + kUnit - 1) / kUnit * kUnit;
}

}  // namespace

// A thread of the device cannot join itself, so a detached thread destroys the device.
std::shared_ptr<ComputeDevice> ComputeDevice::open(int ordinal) {
  return std::shared_ptr<ComputeDevice>(new ComputeDevice(ordinal), [](ComputeDevice* device) {
    const bool isOwn = device->adds_.isCurrent() || device->waits_.isCurrent();
    if (isOwn) std::thread([device] { delete device; }).detach();
    else delete device;
  });
}

ComputeDevice::ComputeDevice(int ordinal)
    : device_(usableDevice(ordinal)),
      name_(nameOf(device_)),
      major_(attributeOf(device_, kComputeCapabilityMajor)),
      minor_(attributeOf(device_, kComputeCapabilityMinor)) {
  device_.makeCurrent();
  stream_.emplace(device_);
  copies_.emplace(device_);
  copied_.emplace(device_);
}

ComputeDevice::MemoryInfo ComputeDevice::memory() const {
  const CudaCompute& cuda = CudaCompute::ofProcess();
  MemoryInfo info{};
  device_.makeCurrent();
  cuda.call(cuda.memGetInfo, device_.name(), &info.free, &info.total);
  return info;
}

std::shared_ptr<const Event> ComputeDevice::takeEvent() {
  std::unique_ptr<Event> event;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!events_.empty()) {
      event = std::move(events_.back());
      events_.pop_back();
    }
  }
  if (event == nullptr) event = std::make_unique<Event>(device_, kEventDisableTiming | kEventBlockingSync);
  return std::shared_ptr<const Event>(event.release(), [this](const Event* unused) {
    const std::lock_guard<std::mutex> lock(mutex_);
    events_.emplace_back(const_cast<Event*>(unused));
  });
}

void ComputeDevice::submit(Work work, Done done) {
  {
    // Before the thread has the work, so that memory that it uses is never released with a smaller number.
    const std::lock_guard<std::mutex> lock(mutex_);
    ++submitted_;
  }
  adds_.submit([this, work = std::move(work), done = std::move(done)] {
    std::shared_ptr<const Event> event;
    const std::optional<Failure> failure = failureOf([&] {
      device_.makeCurrent();
      work(*stream_);
      event = takeEvent();
      stream_->record(*event);
    });
    ++added_;
    recent_[added_ % recent_.size()] = failure ? nullptr : event;
    waits_.submit([event, failure, done] {
      if (failure) return done(failure);
      done(failureOf([&] { awaitSoon(*event); }));
    });
  });
}

std::shared_ptr<const Event> ComputeDevice::eventAfter(std::uint64_t number) const {
  if (number == 0) return nullptr;
  const std::uint64_t oldest = added_ < recent_.size() ? 1 : added_ - recent_.size() + 1;
  for (std::uint64_t one = std::max(number, oldest); one <= added_; ++one) {
    if (recent_[one % recent_.size()] != nullptr) return recent_[one % recent_.size()];
  }
  return nullptr;
}

std::uint64_t ComputeDevice::lastUseOf(const DeviceMemory& memory) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = releasedAt_.find(memory.data());
  return found == releasedAt_.end() ? 0 : found->second;
}

void ComputeDevice::copyToNew(std::shared_ptr<const DeviceMemory> to, std::shared_ptr<const PinnedMemory> from, std::size_t bytes, Done done) {
  const std::uint64_t lastUse = lastUseOf(*to);
  submit(
      [this, to = std::move(to), from = std::move(from), bytes, lastUse](const Stream& stream) {
        if (const std::shared_ptr<const Event> event = eventAfter(lastUse)) copies_->waitFor(*event);
        copies_->copyToDevice(to->data(), from->data(), bytes);
        copies_->record(*copied_);
        stream.waitFor(*copied_);
      },
      std::move(done));
}

void ComputeDevice::submitAndWait(Work work) {
  std::promise<std::optional<Failure>> ended;
  submit(std::move(work), [&ended](const std::optional<Failure>& failure) { ended.set_value(failure); });
  if (const std::optional<Failure> failure = ended.get_future().get()) throw Failure(*failure);
}

void ComputeDevice::note(const std::optional<Failure>& failure) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!noted_) noted_ = failure;
}

std::optional<Failure> ComputeDevice::takeNoted() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(noted_, std::nullopt);
}

void ComputeDevice::awaitIdle() {
  adds_.awaitIdle();
  waits_.awaitIdle();
}

template <typename Memory>
std::shared_ptr<const Memory> ComputeDevice::acquire(MemoryPool<Memory>& pool, std::size_t bytes) {
  std::optional<Memory> memory = pool.acquire(device_, roundedUp(bytes));
  if (!memory) {
    device_.makeCurrent();
    const std::optional<Failure> failure = failureOf([&] { memory.emplace(device_, roundedUp(bytes)); });
    if (failure) {
      // Perhaps enough memory is unused, but in pieces of other sizes.
      pool.clear();
      memory.emplace(device_, roundedUp(bytes));
    }
  }
  // The owner keeps the pool.
  return std::shared_ptr<const Memory>(new Memory(std::move(*memory)), [self = shared_from_this(), &pool](const Memory* released) {
    const std::unique_ptr<Memory> owned(const_cast<Memory*>(released));
    if constexpr (std::is_same_v<Memory, DeviceMemory>) {
      const std::lock_guard<std::mutex> lock(self->mutex_);
      self->releasedAt_[owned->data()] = self->submitted_;
    }
    pool.release(self->device_, std::move(*owned));
  });
}

std::shared_ptr<const DeviceMemory> ComputeDevice::allocate(std::size_t bytes) {
  std::shared_ptr<const DeviceMemory> memory;
  const std::optional<Failure> failure = failureOf([&] { memory = acquire(memory_, bytes); });
  if (!failure) return memory;
  throw Failure(failure->code, {}, failure->detail + ". " + withThousandsSeparated(this->memory().free) + " bytes are free");
}

std::shared_ptr<const PinnedMemory> ComputeDevice::pinned(std::size_t bytes) { return acquire(pinned_, bytes); }

}  // namespace ringrun
