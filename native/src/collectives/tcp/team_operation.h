#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/operation.h"
#include "collectives/blocks.h"
#include "collectives/tcp/scratch.h"
#include "transport/tcp/messenger.h"
#include "transport/topology.h"

namespace ringrun {

// The bytes of an array.
struct Span {
  std::uint8_t* data = nullptr;
  std::size_t bytes = 0;
};
using Spans = std::vector<Span>;

inline Span spanOf(const Block& block, DType dtype) {
  return {static_cast<std::uint8_t*>(block.data), static_cast<std::size_t>(block.count) * bytesPerElement(dtype)};
}

// One operation of a team, on which an algorithm runs. Algorithms address ranks by their places in the team,
// whose order is that of a ring. So the same ring runs over a whole group or over one rank of each host.
//
// All arguments must outlive this object. This rank is one of two or more in the team.
class TeamOperation {
 public:
  TeamOperation(Messenger& messenger, const Call& call, const Team& team, Scratch& scratch);
  ~TeamOperation() { messenger_.copyLent(); }
  TeamOperation(const TeamOperation&) = delete;
  TeamOperation& operator=(const TeamOperation&) = delete;

  const Fingerprint& fingerprint() const { return call_.fingerprint; }
  int size() const { return static_cast<int>(team_.size()); }

  // This rank's place, and the places `distance` < size above or below it on the ring.
  int place() const { return place_; }
  int above(int distance = 1) const { return (place_ + distance) % size(); }
  int below(int distance = 1) const { return (place_ - distance + size()) % size(); }

  // Messages between places. `headerFirst`: for a receiver that writes to the caller's memory before it knows
  // that the sender runs the same operation. `isLent`: until this object is destroyed, nothing but a message that is received
  // overwrites the bytes.
  struct Send {
    int to;
    const void* data;
    std::size_t bytes;
    bool isLent = false;
  };
  struct Receive {
    int from;
    void* into;
    std::size_t bytes;
    bool headerFirst = false;
  };

  // Messenger::transfer. Numbers the messages of each pair, so that both sides can check them.
  void transfer(const std::vector<Send>& sends, const std::vector<Receive>& receives, std::size_t mostAhead = 0,
                const WorkMeanwhile& meanwhile = {});

  // The number of messages that this rank should send to `place` before it has received as many others: `most` over a
  // long link, where a message that waits for another one costs a delay. No effect on the bytes of messages.
  std::size_t sendsAhead(int place, std::size_t most) {
    return messenger_.isFar(team_[static_cast<std::size_t>(place)]) ? most : 0;
  }

  // As above, and no more messages of `bytes` than fill the link one and a half times. Further ones would wait in front of it,
  // where routers drop them: messages to several ranks share this host's link.
  std::size_t sendsThatFill(int place, std::size_t bytes, std::size_t most) {
    const std::size_t ahead = sendsAhead(place, most);
    const auto filling = messenger_.bytesThatFill(team_[static_cast<std::size_t>(place)]);
    if (!filling || ahead == 0) return ahead;
    return std::min(std::max<std::size_t>((*filling + *filling / 2) / bytes, 1), ahead);
  }

  // See Buffer::of.
  std::uint8_t* receiveBuffer(std::size_t bytes) { return scratch_.receiveBuffer.of(bytes); }
  float* widened(std::size_t count) { return reinterpret_cast<float*>(scratch_.widened.of(count * sizeof(float))); }

 private:
  Messenger& messenger_;
  const Call& call_;
  const Team& team_;
  Scratch& scratch_;
  int place_;
  // Numbers of messages so far, by place.
  std::vector<std::uint32_t> sent_;
  std::vector<std::uint32_t> received_;
};

}  // namespace ringrun
