#pragma once

#include <functional>
#include <optional>

#include "base/deadline.h"
#include "base/failure.h"
#include "base/operation.h"

namespace ringrun {

// A send or a receive that was asked for.
struct Letter {
  // Op::Send or Op::Receive; root: the other rank, or kAnyRank; sequence: the tag.
  Fingerprint fingerprint;
  // Elements to send, or where they go. Belongs to the letter until `done`.
  void* data;
  double timeoutMs;
  // Called once, on the thread that runs the mailbox: with the failure that ended it, or with the rank at the other end.
  std::function<void(std::optional<OperationFailure>, int peer)> done;

  std::uint64_t tag() const { return fingerprint.sequence; }
  std::uint32_t peer() const { return fingerprint.root; }
};

}  // namespace ringrun
