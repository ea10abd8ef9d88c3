#pragma once

#include <chrono>
#include <cstdint>

#include "base/deadline.h"
#include "transport/connect/endpoint.h"

namespace ringrun {

// How many lanes of a long link take parts of messages: a few at first, and twice as many after each message that shows that the
// link had room, as long as it took more than a round trip and a half. Half as many after one that shows that the link is full.
// With one, messages take the connection for messages, which shows in the same way when the link has room for more.
//
// Each connection of a full link only takes from the others: on 10 Mbit/s and 100 ms, four ranks averaged an array of
// 3.2 MB in 9.6 s with 32 lanes, and in 5.5 s without.
class LaneCount {
 public:
  explicit LaneCount(std::uint32_t most = 0) : most_(most) {}

  std::uint32_t inUse() const { return inUse_ < most_ ? inUse_ : most_; }

  // False while one connection fills the link: that for messages is open anyway, and its window is.
  bool helps() const { return inUse() > 1; }

  // The last bytes of a message that began at `begunAt` have been sent. `path`: the lanes in use, with the average of their
  // round trips, the shortest of all, and the sums of their segments; or the connection for messages, if lanes do not help.
  // `opened`: lanes that exist. Returns whether the link is full.
  bool onSent(Clock::time_point begunAt, Clock::time_point now, const TcpPath& path, std::uint32_t opened);

 private:
  // Segments, at the last message.
  struct Segments {
    std::uint64_t sent = 0;
    std::uint64_t resent = 0;
  };

  static bool isFull(const TcpPath& path, const Segments& before);

  std::uint32_t most_;
  std::uint32_t inUse_ = 4;
  Clock::time_point changedAt_{};  // earlier messages tell nothing about this number
  Clock::time_point growsAfter_{};
  std::chrono::seconds pause_{1};  // before it grows again; twice as long each time that the link was full
  Segments ofLanes_;
  Segments ofConnection_;
};

}  // namespace ringrun
