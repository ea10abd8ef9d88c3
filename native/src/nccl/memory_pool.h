#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "nccl/device.h"

namespace ringrun {

// Memory that is not used at present, kept to be used again: allocating and freeing wait for everything that the GPU has
// been given, by other groups too, and one of those may wait for a rank that is gone, until this very thread gives it up.
// One for each kind of memory in a process; may be used by every thread.
template <typename Memory>
class SpareMemory {
 public:
  static SpareMemory& ofProcess() {
    static SpareMemory* const spare = new SpareMemory;
    return *spare;
  }

  // Of at least `bytes`, and at most twice as much; nothing where there is none.
  std::optional<Memory> take(const Device& device, std::size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = spare_.lower_bound({device.index(), bytes});
    if (found == spare_.end() || found->first.first != device.index() || found->first.second > 2 * bytes) return std::nullopt;
    std::optional<Memory> memory(std::move(found->second));
    spare_.erase(found);
    return memory;
  }

  void keep(const Device& device, Memory memory) {
    if (memory.data() == nullptr) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    spare_.emplace(std::make_pair(device.index(), memory.bytes()), std::move(memory));
  }

 private:
  std::mutex mutex_;
  std::multimap<std::pair<int, std::size_t>, Memory> spare_;  // by device and bytes; guarded by mutex_
};

// From what is spare, or freshly allocated: on a thread of its own, so that operations of other groups go on meanwhile.
// Throws Failure.
template <typename Memory>
Memory takeMemory(const Device& device, std::size_t bytes);

}  // namespace ringrun
