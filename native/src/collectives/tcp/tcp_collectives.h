#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collectives/collectives.h"
#include "collectives/split.h"
#include "transport/connections.h"

namespace ringrun {

// Collectives over TCP. A *chunk* is the range of elements that belongs to one rank, a *segment* the part of a chunk
// that travels as one message. In each algorithm a rank knows that every rank called the same before it writes to the
// caller's memory.
class TcpCollectives : public Collectives {
 public:
  // `connections` outlives it.
  explicit TcpCollectives(Connections& connections);

  void allReduce(const Call& call, void* data) override;
  void reduce(const Call& call, void* data) override;
  void reduceScatter(const Call& call, const Blocks& inputs, const Block& output) override;
  void broadcast(const Call& call, void* data) override;
  void exchange(const Call& call, const Exchange& exchange) override;
  void barrier(const Call& call) override;
  Allocation allocate(const Call& call) override;

 private:
  void allReduceByExchange(const Call& call, void* data);
  void allReduceInRing(const Call& call, std::uint8_t* data);
  std::uint8_t* scratch(std::size_t bytes);

  int rank_;
  int size_;
  Messenger& messenger_;
  std::vector<std::uint8_t> scratch_;
};

}  // namespace ringrun
