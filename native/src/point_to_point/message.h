#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "base/deadline.h"
#include "base/failure.h"
#include "base/operation.h"

namespace ringrun {

// A send or receive as its caller posts it.
struct Message {
  // Op::Send or Op::Receive; root: the other rank, or kAnyRank; sequence: the tag.
  Fingerprint fingerprint;
  // The elements to send, or the memory to receive into. Must stay valid until `done` is called.
  void* data;
  double timeoutMs;
  // Called once, on the thread of PointToPoint::run(), with the failure or with the rank at the other end.
  std::function<void(std::optional<OperationFailure>, int peer)> done;

  std::uint64_t tag() const { return fingerprint.sequence; }
  std::uint32_t peer() const { return fingerprint.root; }
};

// A message with a running timeout.
struct Posted {
  Message message;
  Deadline deadline;
  // False for a short message that was reported as sent early: its caller no longer waits.
  bool isAwaited = true;

  void fail(const Failure& failure) const {
    message.done(OperationFailure{failure, message.fingerprint, message.timeoutMs}, -1);
  }
};

// A failure of one message, which ends the group.
class MessageFailure : public Failure {
 public:
  MessageFailure(Failure failure, const Message& message)
      : Failure(std::move(failure)), fingerprint(message.fingerprint), timeoutMs(message.timeoutMs) {}

  Fingerprint fingerprint;
  double timeoutMs;
};

}  // namespace ringrun
