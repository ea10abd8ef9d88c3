#pragma once

#include <poll.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/deadline.h"
#include "base/unique_fd.h"
#include "transport/connect/endpoint.h"

namespace ringrun {

// Bytes on their way from one connection to the other. What does not fit waits in the sockets, so a slow receiver slows its
// sender. Never blocks.
class RelayDirection {
 public:
  RelayDirection() : buffer_(new std::uint8_t[kBytes]) {}

  // Moves bytes as far as possible. Returns false if a connection broke.
  bool advance(int from, int to);

  // True if the sender has ended its direction and everything was forwarded.
  bool hasEnded() const { return hasEnded_ && begin_ == end_; }

  bool mayReceive() const { return !hasEnded_ && end_ < kBytes; }
  bool hasToSend() const { return begin_ < end_; }

 private:
  static constexpr std::size_t kBytes = 128 * 1024;

  std::unique_ptr<std::uint8_t[]> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool hasEnded_ = false;    // the sender has
  bool isShutDown_ = false;  // the receiver knows
};

// A connection that this rank forwards between two others: first connects to the second one. Never blocks.
class RelaySession {
 public:
  // `asking`: the connection of the rank that asked. `silence`: time without an answer after which a connection is closed.
  RelaySession(UniqueFd asking, const Endpoint& target, Milliseconds silence);

  // Returns false when the session has ended.
  bool advance();

  void addInterests(std::vector<pollfd>& interests) const;

 private:
  void answer(int error);
  bool isSilent();

  UniqueFd asking_;
  UniqueFd target_;
  Milliseconds silence_;
  bool isConnected_ = false;
  int error_ = 0;  // of connecting
  Clock::time_point connectUntil_;
  Clock::time_point nextSilenceCheck_;
  RelayDirection forth_;
  RelayDirection back_;
};

}  // namespace ringrun
