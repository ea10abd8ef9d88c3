#include "gpu/memory_pool.h"

#include <memory>

#include "base/run_with_timeout.h"
#include "gpu/memory.h"

namespace ringrun {
namespace {

// Allocation takes milliseconds, unless GPU work never ends.
constexpr Milliseconds kAllocationTimeout{30'000};

}  // namespace

template <typename Memory>
Memory acquireMemory(const Device& device, std::size_t bytes) {
  if (std::optional<Memory> memory = MemoryPool<Memory>::ofProcess().acquire(device, bytes)) return std::move(*memory);
  struct Result {
    Memory memory;
    std::optional<Failure> failure;
  };
  const auto result = std::make_shared<Result>();
  const bool ended = runWithTimeout(kAllocationTimeout, [result, &device, bytes] {
    result->failure = failureOf([&] {
      device.makeCurrent();
      result->memory = Memory(device, bytes);
    });
  });
  if (!ended) {
    throw Failure(FailureCode::System, {},
                  "allocating " + withThousandsSeparated(bytes) + " bytes for " + device.name() +
                      " took longer than 30 s: the driver is waiting for GPU work that does not complete");
  }
  if (result->failure) throw Failure(*result->failure);
  device.makeCurrent();
  return std::move(result->memory);
}

template DeviceMemory acquireMemory<DeviceMemory>(const Device& device, std::size_t bytes);
template PinnedMemory acquireMemory<PinnedMemory>(const Device& device, std::size_t bytes);

}  // namespace ringrun
