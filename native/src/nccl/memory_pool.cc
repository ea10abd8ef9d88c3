#include "nccl/spare_memory.h"

#include <memory>

#include "nccl/aside.h"
#include "nccl/memory.h"

namespace ringrun {
namespace {

// Allocating takes milliseconds, unless something on the GPU never ends.
constexpr Milliseconds kPatience{30'000};

}  // namespace

template <typename Memory>
Memory takeMemory(const Device& device, std::size_t bytes) {
  if (std::optional<Memory> spare = SpareMemory<Memory>::ofProcess().take(device, bytes)) return std::move(*spare);
  struct Result {
    Memory memory;
    std::optional<Failure> failure;
  };
  const auto result = std::make_shared<Result>();
  const bool ended = endsWithin(kPatience, [result, &device, bytes] {
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

template DeviceMemory takeMemory<DeviceMemory>(const Device& device, std::size_t bytes);
template PinnedMemory takeMemory<PinnedMemory>(const Device& device, std::size_t bytes);

}  // namespace ringrun
