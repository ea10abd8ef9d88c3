#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/operation.h"

namespace ringrun {

// Why an operation of a group failed. The numbers travel in ABORT messages (transport/wire.h).
enum class FailureCode : std::uint32_t { PeerDied = 1, Timeout = 2, Mismatch = 3, System = 4, Closed = 5 };

// A rank that a failure is about, and the operation it was seen in last.
struct InvolvedRank {
  int rank;
  std::optional<Fingerprint> seenIn;
};

// What every function of transport/ and collectives/ throws. After one, the ranks no longer agree on what comes next.
class Failure : public std::exception {
 public:
  Failure(FailureCode failureCode, std::vector<InvolvedRank> involvedRanks, std::string text)
      : code(failureCode), ranks(std::move(involvedRanks)), detail(std::move(text)) {}

  const char* what() const noexcept override { return detail.c_str(); }

  FailureCode code;
  // Who died; who was missing; or both sides of a mismatch. Empty when the cause is this process itself.
  std::vector<InvolvedRank> ranks;
  // How it was noticed: the system call, errno's text, bytes expected and got, who reported it.
  std::string detail;
};

// A failure, the operation of this rank that met it, and how long that was allowed to take.
struct OperationFailure {
  Failure failure;
  Fingerprint fingerprint;
  double timeoutMs;
};

// The failure that `act` meets, or nothing.
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

// A system call that failed for a reason of this machine, not of a peer.
[[noreturn]] void throwSystem(const std::string& call, int error, const std::string& about);

}  // namespace ringrun
