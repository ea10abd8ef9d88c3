#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/operation.h"
#include "collectives/blocks.h"
#include "collectives/tcp/scratch.h"
#include "transport/tcp/messenger.h"
#include "transport/topology.h"

namespace ringrun {

// Bytes of an array.
struct Span {
  std::uint8_t* data = nullptr;
  std::size_t bytes = 0;
};
using Spans = std::vector<Span>;

inline Span spanOf(const Block& block, DType dtype) {
  return {static_cast<std::uint8_t*>(block.data), static_cast<std::size_t>(block.count) * bytesPerElement(dtype)};
}

// A team in the course of one operation: what an algorithm runs over. Algorithms know the ranks by their places in the
// team, in whose order a ring goes round, and never ask which other ranks there are: the same ring runs over a group,
// or over one rank of each host.
//
// All that it is given outlives it; this rank is in the team, and not alone.
class Communicator {
 public:
  Communicator(Messenger& messenger, const Call& call, const Team& team, Scratch& scratch);

  const Fingerprint& fingerprint() const { return call_.fingerprint; }
  int size() const { return static_cast<int>(team_.size()); }

  // This rank's, and those that lie `distance` < size further round the ring, or back.
  int place() const { return place_; }
  int above(int distance = 1) const { return (place_ + distance) % size(); }
  int below(int distance = 1) const { return (place_ - distance + size()) % size(); }

  // Between places. A receiver that is not sure yet that the sender carries out the same operation lets the header be
  // looked at first where `into` is the caller's memory, which nothing else may be written to.
  struct Send {
    int to;
    const void* data;
    std::size_t bytes;
  };
  struct Receive {
    int from;
    void* into;
    std::size_t bytes;
    bool headerFirst = false;
  };

  // Messenger::transfer; numbers the messages of each pair, for both sides to check.
  void transfer(const std::vector<Send>& sends, const std::vector<Receive>& receives);

  // See Buffer::of.
  std::uint8_t* landings(std::size_t bytes) { return scratch_.landings.of(bytes); }
  float* widened(std::size_t count) { return reinterpret_cast<float*>(scratch_.widened.of(count * sizeof(float))); }

 private:
  Messenger& messenger_;
  const Call& call_;
  const Team& team_;
  Scratch& scratch_;
  int place_;
  // Messages so far, by place.
  std::vector<std::uint32_t> sent_;
  std::vector<std::uint32_t> received_;
};

}  // namespace ringrun
