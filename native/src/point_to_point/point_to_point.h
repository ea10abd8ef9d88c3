#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "base/notifier.h"
#include "base/wait_reports.h"
#include "point_to_point/message.h"
#include "point_to_point/message_waits.h"
#include "point_to_point/receives.h"
#include "point_to_point/sends.h"
#include "transport/connections.h"

namespace ringrun {

// Messages between two ranks, beside the collectives, with MPI's matching rules: a receive matches the oldest
// message with its tag from its rank, or from any rank. The sender connects when it first sends; the connection
// stays open.
//
// Messages of up to kEagerMessageBytes are sent at once; the receiver stores up to kEagerCredits of them without a
// matching receive. Others are sent when their receive is posted: so no message blocks another one, and long ones are
// received in place.
//
// post(), isBusy() and notify() may be called by any thread. All other functions are called only by the thread of
// run().
class PointToPoint {
 public:
  // `connections` must outlive this object. `cancelled` is set when the group is destroyed. `reports` is
  // copied, because collectives report at the same time.
  PointToPoint(Connections& connections, const std::atomic<bool>& cancelled, const WaitReports& reports);

  // Posts the message. Returns true if run() is not active: the caller must then schedule it.
  bool post(Message message);

  // Runs until no message is pending. Returns the first failure, if any; then end() must follow.
  std::optional<OperationFailure> run();

  // Fails all pending and all later messages with `failure`.
  void end(const OperationFailure& failure);

  // Number of messages that this rank has sent to each rank, including every message posted so far.
  std::vector<std::uint64_t> sentToEach() const { return sends_.sentToEach(); }

  // True if a posted message has not been examined yet.
  bool hasUnseenPosts();

  // True if all of these numbers of messages from each rank have been announced, and the receives that match them have
  // completed.
  bool hasReceived(const std::vector<std::uint64_t>& sentFrom) const { return receives_.hasReceived(sentFrom); }

  // Fail all receives without a message, or all pending sends, with `failure`.
  void endReceives(const Failure& failure) { receives_.fail(failure); }
  void endSends(const Failure& failure) { sends_.fail(failure); }

  // True while messages are pending.
  bool isBusy() const { return busy_.load(std::memory_order_acquire); }

  // Wakes run() if it waits, so that it checks for failures.
  void notify() const noexcept { notifier_.notify(); }

 private:
  void exchange();
  void acceptPosted();
  bool advance();
  bool stopWhenDone();
  void wait();
  void checkWhileWaiting();

  Connections& connections_;
  WaitReports reports_;
  int spins_;

  // Shared with the threads that post.
  std::mutex mutex_;
  std::vector<Message> posted_;
  bool isAccepting_ = false;  // posted messages are being examined
  std::atomic<bool> busy_{false};
  Notifier notifier_;

  std::optional<OperationFailure> ended_;
  Sends sends_;
  Receives receives_;
  MessageWaits waits_;
};

}  // namespace ringrun
