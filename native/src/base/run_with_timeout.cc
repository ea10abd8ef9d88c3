#include "base/run_with_timeout.h"

#include <poll.h>

#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "base/notifier.h"
#include "base/wait.h"

namespace ringrun {

bool runWithTimeout(Milliseconds timeout, std::function<void()> act) {
  struct End {
    Notifier notifier;
    std::atomic<bool> reached{false};
  };
  const auto end = std::make_shared<End>();
  std::thread([end, act = std::move(act)]() mutable {
    act();
    // Releases captured state before the caller can see the end, because the caller may then read and free
    // shared state.
    act = nullptr;
    end->reached.store(true, std::memory_order_release);
    end->notifier.notify();
  }).detach();
  const Deadline deadline = Deadline::after(static_cast<double>(timeout.count()));
  while (!end->reached.load(std::memory_order_acquire)) {
    if (deadline.passed()) return false;
    pollfd interest{end->notifier.fd(), POLLIN, 0};
    pollSockets(&interest, 1, deadline.leftWithin(timeout));
  }
  return true;
}

}  // namespace ringrun
