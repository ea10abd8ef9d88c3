#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "gpu/device.h"

namespace ringrun {

// A pool of unused memory. Allocating and freeing wait for all GPU work, even of other groups, and that may
// wait for a dead rank until this same thread aborts it. Collectives have one pool for each kind of memory in a
// process. May be used by any thread.
template <typename Memory>
class MemoryPool {
 public:
  static MemoryPool& ofProcess() {
    static MemoryPool* const pool = new MemoryPool;
    return *pool;
  }

  // Memory of at least `bytes` and at most twice that; empty if the pool has none.
  std::optional<Memory> acquire(const Device& device, std::size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = free_.lower_bound({device.index(), bytes});
    if (found == free_.end() || found->first.first != device.index() || found->first.second > 2 * bytes) return std::nullopt;
    std::optional<Memory> memory(std::move(found->second));
    free_.erase(found);
    return memory;
  }

  // Frees all unused memory, which waits for the GPU.
  void clear() {
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.clear();
  }

  void release(const Device& device, Memory memory) {
    if (memory.data() == nullptr) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    free_.emplace(std::make_pair(device.index(), memory.bytes()), std::move(memory));
  }

 private:
  std::mutex mutex_;
  std::multimap<std::pair<int, std::size_t>, Memory> free_;  // by device and bytes; guarded by mutex_
};

// Memory from the pool, or newly allocated on a separate thread, so that operations of other groups continue
// meanwhile. Throws Failure.
template <typename Memory>
Memory acquireMemory(const Device& device, std::size_t bytes);

}  // namespace ringrun
