#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/operation.h"

namespace ringrun {

// Cause of a failed operation. The numbers are part of ABORT messages (transport/wire.h), the names are those of
// NativeFailure: run `npm run generate` after a change.
enum class FailureCode : std::uint32_t {
  PeerDied = 1,
  Timeout = 2,
  Mismatch = 3,
  System = 4,
  Closed = 5,
  Untrusted = 6,  // a peer does not have the group's key
  Altered = 7,    // bytes on an encrypted connection were changed in transit
};

// A rank involved in a failure, and the last operation in which it was seen.
struct InvolvedRank {
  int rank;
  std::optional<Fingerprint> seenIn;
};

// Thrown by all functions of transport/ and collectives/. Afterwards the ranks no longer agree on the next
// operation.
class Failure : public std::exception {
 public:
  Failure(FailureCode failureCode, std::vector<InvolvedRank> involvedRanks, std::string text)
      : code(failureCode), ranks(std::move(involvedRanks)), detail(std::move(text)) {}

  const char* what() const noexcept override { return detail.c_str(); }

  FailureCode code;
  // The ranks that died, were missing, or disagreed. Empty if this process itself is the cause.
  std::vector<InvolvedRank> ranks;
  // Details: the system call, errno's text, expected and received bytes, the reporting rank.
  std::string detail;
};

// A failure, the operation of this rank in which it occurred, and the timeout of that operation.
struct OperationFailure {
  Failure failure;
  Fingerprint fingerprint;
  double timeoutMs;
};

// Returns the failure that `act` throws, or nothing.
template <typename Act>
std::optional<Failure> failureOf(const Act& act) {
  try {
    act();
  } catch (const Failure& met) {
    return met;
  } catch (const std::exception& error) {  // out of memory
    return Failure(FailureCode::System, {}, error.what());
  }
  return std::nullopt;
}

// "connect to 10.0.0.2:4711: Connection refused (errno 111)"
std::string describeSystemError(const std::string& call, int error, const std::string& about);

// Throws a failure of this machine, not of a peer.
[[noreturn]] void throwSystem(const std::string& call, int error, const std::string& about);

}  // namespace ringrun
