#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/notifier.h"
#include "base/operation.h"
#include "transport/connections.h"

namespace ringrun {

// Waits for a GPU, as every wait of this library does (base/wait.h), and looks out for what ends the wait otherwise: a
// peer's death, its failure, the deadline, an error of NCCL, this process leaving. NCCL itself waits for a dead peer for
// ever, so it is the connections between the ranks that tell.
class Watch {
 public:
  // `connections` outlive it.
  explicit Watch(Connections& connections) : connections_(connections), notifier_(std::make_shared<Notifier>()) {}

  // Rung when there may be something to look at.
  const std::shared_ptr<const Notifier>& notifier() const { return notifier_; }

  // What is asked at every wake-up: whether the wait is over. Throws Failure for an error of the GPU or of NCCL.
  using IsOver = std::function<bool()>;

  // Returns when it is over; looks at least every `interval`. Throws Failure: PeerDied rather than whatever NCCL reports
  // of the same death.
  void until(const Call& call, const IsOver& isOver, Milliseconds interval) const;

 private:
  void throwIfEnded(const Call& call, Clock::time_point since) const;
  std::optional<Failure> deathOfPeer(const Call& call) const;
  Failure timeoutOf(const Call& call) const;
  void sleep(const Call& call, Milliseconds interval) const;

  Connections& connections_;
  std::shared_ptr<const Notifier> notifier_;
};

}  // namespace ringrun
