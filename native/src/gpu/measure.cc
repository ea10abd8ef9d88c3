#include "gpu/measure.h"

#include <chrono>
#include <functional>
#include <memory>

#include "base/wait.h"
#include "gpu/memory.h"
#include "gpu/stream.h"

namespace ringrun {
namespace {

constexpr Milliseconds kPollInterval{1000};

void await(const Stream& stream, const Event& event, const std::shared_ptr<const Notifier>& notifier) {
  stream.record(event);
  stream.notifyWhenDone(notifier);
  while (!event.hasPassed()) {
    pollfd interest{notifier->fd(), POLLIN, 0};
    pollSockets(&interest, 1, kPollInterval);
    notifier->clear();
  }
}

}  // namespace

// The first copy in each direction is not measured.
CopyBandwidth measureCopies(const Device& device, std::size_t bytes, int rounds) {
  device.makeCurrent();
  const DeviceMemory onDevice(device, bytes);
  const PinnedMemory pinned(device, bytes);
  const Stream stream(device);
  const Event event(device);
  const auto notifier = std::make_shared<Notifier>();
  const auto measure = [&](const std::function<void()>& copy) {
    copy();
    await(stream, event, notifier);
    const auto since = std::chrono::steady_clock::now();
    for (int round = 0; round < rounds; ++round) copy();
    await(stream, event, notifier);
    const std::chrono::duration<double> received = std::chrono::steady_clock::now() - since;
    return static_cast<double>(bytes) * rounds / received.count();
  };
  CopyBandwidth bandwidth{};
  bandwidth.toDevice = measure([&] { stream.copyToDevice(onDevice.data(), pinned.data(), bytes); });
  bandwidth.toHost = measure([&] { stream.copyToHost(pinned.data(), onDevice.data(), bytes); });
  return bandwidth;
}

}  // namespace ringrun
