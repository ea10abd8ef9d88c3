#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collectives/collectives.h"
#include "collectives/split.h"
#include "transport/connect/acceptor.h"
#include "transport/control/mesh.h"
#include "transport/shm/arena.h"
#include "transport/shm/segments.h"

namespace ringrun {

// Collectives of ranks on one host. A *share* is the range of elements that one rank reduces for everybody; a *piece*
// is what goes through staging at once.
class ShmCollectives : public Collectives {
 public:
  // A collective: returns when every rank is connected. Throws Failure.
  ShmCollectives(int rank, int size, const std::vector<Endpoint>& endpoints, Acceptor acceptor, const Call& call);

  void allReduce(const Call& call, void* data) override;
  void broadcast(const Call& call, void* data) override;
  void barrier(const Call& call) override;
  Allocation allocate(const Call& call) override;
  void abort(const Failure& failure, const Call& call) noexcept override;
  void leave() noexcept override;

 private:
  void allReduceEagerly(const Call& call, void* data);
  void allReduceInPlace(const Call& call, const Placement& placement);
  void allReduceStaged(const Call& call, std::uint8_t* data, bool firstPieceIsStaged);
  bool allPostedPlacement(const Placement& placement) const;
  bool anyPostedPlacement() const;
  Range shareOf(int rank, const Fingerprint& fingerprint, std::size_t count) const;

  int rank_;
  int size_;
  Acceptor acceptor_;  // listens for as long as the group lives: that is how peers tell "slow" from "gone" while they connect
  ControlMesh mesh_;
  std::unique_ptr<Arena> arena_;
  Segments segments_;
};

}  // namespace ringrun
