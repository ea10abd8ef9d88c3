#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collectives/collectives.h"
#include "collectives/split.h"
#include "transport/connect/acceptor.h"
#include "transport/control/mesh.h"
#include "transport/tcp/messenger.h"

namespace ringrun {

// Collectives over TCP. A *chunk* is the range of elements that belongs to one rank, a *segment* the part of a chunk
// that travels as one message. In each algorithm a rank knows that every rank called the same before it writes to the
// caller's memory.
class TcpCollectives : public Collectives {
 public:
  // A collective: returns when every rank is connected. Throws Failure.
  TcpCollectives(int rank, int size, const std::vector<Endpoint>& endpoints, Acceptor acceptor, const Call& call);

  void allReduce(const Call& call, void* data) override;
  void broadcast(const Call& call, void* data) override;
  void barrier(const Call& call) override;
  Allocation allocate(const Call& call) override;
  void abort(const Failure& failure, const Call& call) noexcept override;
  void leave() noexcept override;

 private:
  void allReduceByExchange(const Call& call, void* data);
  void allReduceInRing(const Call& call, std::uint8_t* data);
  std::uint8_t* scratch(std::size_t bytes);

  int rank_;
  int size_;
  Acceptor acceptor_;
  ControlMesh mesh_;
  Messenger messenger_;
  std::vector<std::uint8_t> scratch_;
};

}  // namespace ringrun
