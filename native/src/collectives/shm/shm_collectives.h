#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/collectives.h"
#include "collectives/split.h"
#include "transport/connections.h"
#include "transport/shm/arena.h"
#include "transport/shm/segments.h"

namespace ringrun {

// Collectives of ranks on one host. A *share* is the range of elements that one rank reduces for everybody; a *piece*
// is what goes through staging at once.
class ShmCollectives : public Collectives {
 public:
  // A collective. `connections` outlives it. Throws Failure.
  ShmCollectives(Connections& connections, const Call& call);

  void allReduce(const Call& call, void* data) override;
  void reduce(const Call& call, void* data) override;
  void reduceScatter(const Call& call, const Blocks& inputs, const Block& output) override;
  void broadcast(const Call& call, void* data) override;
  void exchange(const Call& call, const Exchange& exchange) override;
  void barrier(const Call& call) override;
  Allocation allocate(const Call& call) override;
  void wakeNeighbours() noexcept override;

 private:
  void allReduceEagerly(const Call& call, void* data);
  void allReduceInPlace(const Call& call, const Placement& placement);
  void allReduceStaged(const Call& call, std::uint8_t* data, bool firstPieceIsStaged);
  bool allPostedPlacement(const Placement& placement) const;
  bool anyPostedPlacement() const;
  Range shareOf(int rank, const Fingerprint& fingerprint, std::size_t count) const;

  int rank_;
  int size_;
  ControlMesh& mesh_;
  Arena arena_;
  Segments segments_;
};

}  // namespace ringrun
