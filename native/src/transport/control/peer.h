#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/failure.h"
#include "base/operation.h"
#include "base/unique_fd.h"
#include "transport/connect/directory.h"
#include "transport/connect/silence.h"
#include "transport/connect/link.h"
#include "transport/control/reconnector.h"
#include "transport/wire.h"

namespace ringrun {

// Memory that another rank of this host shares.
struct PassedMemory {
  UniqueFd fd;
  std::uint64_t bytes = 0;
};

// Another rank in the control mesh: its connection, received state and sent state. Owned by ControlMesh, and
// used by its thread. A peer is connected until it leaves (LEAVE), fails (ABORT) or its connection ends. It never
// reconnects, and only the first of these events counts.
class ControlPeer {
 public:
  enum class State { NotConnected, Connected, Left, Failed, Disconnected };

  explicit ControlPeer(int peerRank) : rank(peerRank) {}

  // Handles everything that has arrived. Never blocks, and does not throw if the peer has ended.
  void receive(const Directory& directory);

  // Sends a message, unless there is no connection. A peer that cannot receive it is ending, or stopped reading long
  // ago. Either way its own wait detects the failure.
  void send(const std::vector<std::uint8_t>& message) noexcept;

  // Ends the connection if the other side is silent. Before, `reconnector` tries to reach it on other ways.
  void endIfSilent(const Directory& directory, Reconnector& reconnector, Clock::time_point now);

  // The peer can no longer be connected. `why` may name another rank.
  void end(const Failure& why);

  bool hasEnded() const { return state == State::Left || state == State::Failed || state == State::Disconnected; }

  // True if the peer waits in operation `sequence` or in a later one.
  bool isWaitingInOrAfter(std::uint64_t sequence) const { return isWaiting && status->sequence >= sequence; }

  int rank;
  Link link;
  State state = State::NotConnected;
  std::string disconnectReason;
  bool isSilent = false;           // disconnected because it did not answer
  std::optional<Failure> failure;  // from the perspective of this rank
  std::uint64_t failedSequence = 0;

  std::optional<Fingerprint> status;       // the operation of its last STATUS
  bool isWaiting = false;                  // still in the operation of `status`
  std::optional<Fingerprint> messageWait;  // the message for which it waits
  std::deque<PassedMemory> passedMemory;

  std::optional<std::uint64_t> statusSequence;   // of the STATUS sent to this peer, until its OUTSIDE
  std::optional<Fingerprint> sentMessageWait;
  std::uint32_t unread = 0;  // STATUS, OUTSIDE and MESSAGE to this peer since its READ

 private:
  void readMessages(int ranks);
  void handle(ControlType type, const std::uint8_t* body, std::size_t bytes, int ranks);
  void acknowledge();
  void markDisconnected(std::string how);

  SilenceWatch silence_;
  std::optional<Clock::time_point> suspectedSince_;
  std::vector<std::uint8_t> inbox_;  // bytes of incomplete messages
  std::deque<UniqueFd> descriptors_;
  std::uint32_t toAcknowledge_ = 0;  // STATUS, OUTSIDE and MESSAGE from this peer since READ was sent to it
};

}  // namespace ringrun
