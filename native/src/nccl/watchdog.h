#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/notifier.h"
#include "base/operation.h"
#include "transport/connections.h"

namespace ringrun {

// Waits for GPU work through base/wait.h, and also ends the wait at a peer's death or failure, the deadline, an
// NCCL error, or destruction of the group. NCCL itself waits forever for a dead peer, so the control
// connections detect it.
class Watchdog {
 public:
  // `connections` must outlive this object.
  explicit Watchdog(Connections& connections) : connections_(connections), notifier_(std::make_shared<Notifier>()) {}

  // Notified when the condition may have changed.
  const std::shared_ptr<const Notifier>& notifier() const { return notifier_; }

  // Condition checked at every wake-up. Throws Failure for an error of the GPU or of NCCL.
  using IsDone = std::function<bool()>;

  // Waits until `isDone` returns true; checks at least every `interval`. Throws Failure: PeerDied rather than
  // NCCL's report of the same death.
  void waitUntil(const Call& call, const IsDone& isDone, Milliseconds interval) const;

 private:
  void throwIfEnded(const Call& call, Clock::time_point since) const;
  std::optional<Failure> failureOfPeer(const Call& call) const;
  Failure timeoutOf(const Call& call) const;
  void sleep(const Call& call, Milliseconds interval) const;

  Connections& connections_;
  std::shared_ptr<const Notifier> notifier_;
};

}  // namespace ringrun
