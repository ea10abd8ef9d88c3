#pragma once

#include <atomic>
#include <vector>

#include "base/wait_reports.h"
#include "point_to_point/receives.h"
#include "point_to_point/sends.h"
#include "transport/connections.h"

namespace ringrun {

// Watches over pending messages while nothing moves: fails those that can no longer complete, and reports long waits. Reads
// the state of sends and receives, and owns none. Used only by the thread of PointToPoint::run().
class MessageWaits {
 public:
  // All arguments must outlive this object.
  MessageWaits(Connections& connections, const Sends& sends, const Receives& receives, const std::atomic<bool>& cancelled,
               WaitReports& reports);

  // Returns the time after which a pending message times out, at most `timeout`.
  Milliseconds leftWithin(Milliseconds timeout) const;

  // Throws MessageFailure for the first message whose peer has ended, failed or violated the protocol, or whose timeout
  // has passed.
  void throwIfEnded() const;

  // Announces and reports the message that has waited longest, if its wait is long. Only one, because messages
  // that wait for each other would repeat the report.
  void reportOldest();

 private:
  template <typename Visit>
  void forEach(Visit visit) const;
  void throwIfEnded(const Posted& posted) const;
  void throwIfViolated(int peer) const;
  void throwIfViolated(int peer, const Channel* channel) const;
  bool canReceiveNothingFrom(int peer) const;
  std::vector<int> peersAwaitedBy(const Posted& posted) const;
  Failure timeoutOf(const Posted& posted) const;
  Call callOf(const Posted& posted) const;
  const Posted* oldestAwaited(int& pending) const;

  Connections& connections_;
  const Sends& sends_;
  const Receives& receives_;
  const std::atomic<bool>& cancelled_;
  WaitReports& reports_;
  int rank_;
};

}  // namespace ringrun
