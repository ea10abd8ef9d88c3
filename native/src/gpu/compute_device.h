#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/worker_thread.h"
#include "gpu/describe.h"
#include "gpu/memory.h"
#include "gpu/memory_pool.h"
#include "gpu/stream.h"

namespace ringrun {

// A GPU that computes for one JavaScript thread: one stream, a thread that adds work to it, and a thread that waits for the
// work. So work is added while earlier work runs, and the GPU does not idle between two runs. A second stream copies batches to new
// memory meanwhile: it waits only for the work that may have used the memory before, and later work waits for the copy.
//
// submit(), allocate(), pinned() and copyToNew() may be called by any thread.
class ComputeDevice : public std::enable_shared_from_this<ComputeDevice> {
 public:
  using Work = std::function<void(const Stream&)>;
  using Done = std::function<void(std::optional<Failure>)>;

  // Throws Failure with the reason if the GPU cannot compute. The last owner may be a thread of the device.
  static std::shared_ptr<ComputeDevice> open(int ordinal);

  ComputeDevice(const ComputeDevice&) = delete;
  ComputeDevice& operator=(const ComputeDevice&) = delete;

  const Device& device() const { return device_; }
  int ordinal() const { return device_.index(); }
  const std::string& name() const { return name_; }
  int capabilityMajor() const { return major_; }
  int capabilityMinor() const { return minor_; }
  // 90 for compute capability 9.0.
  int architecture() const { return major_ * 10 + minor_; }

  struct MemoryInfo {
    std::size_t free;
    std::size_t total;
  };
  MemoryInfo memory() const;

  // Runs `work` on the thread that adds work, with the device current, after the works of earlier calls. When what it has
  // added to the stream is done, or if it throws a Failure, calls `done` on the other thread, in the order of the calls.
  void submit(Work work, Done done);

  // Blocks until the work is done. Throws its Failure. Not for a thread of this object.
  void submitAndWait(Work work);

  // Keeps the failure of work without a promise, unless there is one. takeNoted() returns and forgets it.
  void note(const std::optional<Failure>& failure);
  std::optional<Failure> takeNoted();

  // Blocks until all work is done, without its failures.
  void awaitIdle();

  // Memory that returns to this device when its last owner releases it. Later allocations use it again at once, because all
  // work is on one stream. Throws Failure.
  std::shared_ptr<const DeviceMemory> allocate(std::size_t bytes);

  // Copies to memory of allocate() that no work has used since, beside earlier work and before later work. Calls `done` like submit().
  void copyToNew(std::shared_ptr<const DeviceMemory> to, std::shared_ptr<const PinnedMemory> from, std::size_t bytes, Done done);

  // Page-locked memory that returns to this device likewise. Release it when no work uses it.
  std::shared_ptr<const PinnedMemory> pinned(std::size_t bytes);

 private:
  explicit ComputeDevice(int ordinal);
  ~ComputeDevice() = default;

  // Returns to the unused events with its last owner.
  std::shared_ptr<const Event> takeEvent();

  // An event after the work of a number, and as early as one is known; null if none is needed. On the thread that adds work.
  std::shared_ptr<const Event> eventAfter(std::uint64_t number) const;

  // Works whose use of this memory may not have ended: those up to the returned number.
  std::uint64_t lastUseOf(const DeviceMemory& memory);

  template <typename Memory>
  std::shared_ptr<const Memory> acquire(MemoryPool<Memory>& pool, std::size_t bytes);

  const Device& device_;
  std::string name_;
  int major_ = 0;
  int minor_ = 0;
  std::optional<Stream> stream_;
  std::optional<Stream> copies_;
  std::optional<Event> copied_;
  MemoryPool<DeviceMemory> memory_;
  MemoryPool<PinnedMemory> pinned_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Event>> events_;  // unused; guarded by mutex_
  std::optional<Failure> noted_;                // guarded by mutex_
  std::uint64_t submitted_ = 0;                 // number of works; guarded by mutex_
  // By address of memory that was released: submitted_ at that time. Guarded by mutex_.
  std::map<const void*, std::uint64_t> releasedAt_;
  // Events of the last works, by number modulo the size; null for a work that failed. Used by the thread that adds work.
  std::array<std::shared_ptr<const Event>, 32> recent_;
  std::uint64_t added_ = 0;
  // Destroyed first, in this order: the adding thread uses the waiting one.
  WorkerThread waits_;
  WorkerThread adds_;
};

}  // namespace ringrun
