#pragma once

#include <functional>
#include <optional>

#include "base/deadline.h"
#include "base/failure.h"
#include "base/operation.h"

namespace ringrun {

// A posted send or receive.
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

}  // namespace ringrun
