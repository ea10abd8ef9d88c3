#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "collectives/agreement.h"
#include "collectives/collectives.h"
#include "collectives/tcp/scratch.h"
#include "nccl/communicator.h"
#include "nccl/memory.h"
#include "nccl/staging.h"
#include "nccl/watch.h"
#include "transport/connections.h"

namespace ringrun {

// Collectives on GPUs, through NCCL, beside those of a group over shared memory or TCP (`beside`). Every operation goes
// through two phases:
//
//   1. The ranks agree on it over their own connections: that all have come, call the same, with the same lengths. What
//      NCCL would answer with wrong bytes or by waiting for ever is a Failure here, and nothing has changed.
//   2. NCCL moves the data, and the connections tell of a death meanwhile (watch.h).
//
// An array lies in this host's memory and is taken through the GPU in pieces (staging.h), or on the GPU, where NCCL uses
// it as it lies; the fingerprint says which, and it is the same on all ranks. Pieces follow from lengths and the number
// of ranks alone, so that all ranks make the same calls. What NCCL has no reduction for (bits) is done beside it.
class NcclCollectives : public Collectives {
 public:
  // A collective. `connections` outlive it. Throws Failure.
  NcclCollectives(std::unique_ptr<Collectives> beside, Connections& connections, const Device& device, const NcclUniqueId& id,
                  const Call& call);
  ~NcclCollectives() override;

  int size() const override { return size_; }
  void allReduce(const Call& call, void* data) override;
  void allReduceCoalesced(const Call& call, const Blocks& arrays) override;
  void reduce(const Call& call, void* data) override;
  void reduceScatter(const Call& call, const Blocks& inputs, const Block& output) override;
  void broadcast(const Call& call, void* data) override;
  void exchange(const Call& call, const Exchange& exchange) override;
  void barrier(const Call& call) override;

  // Page-locked memory, from and to which the GPU copies by itself.
  Allocation allocate(const Call& call) override;

  void wakeLocalRanks() noexcept override { beside_->wakeLocalRanks(); }

  const Device& device() const { return device_; }
  const Stream& stream() const { return communicator_.stream(); }

  // A message of the GPU's memory, in the order of the group's operations on both ranks, which agree on it first. Throws
  // Failure; a Mismatch where the other rank's is of another dtype or length.
  void send(const Call& call, const void* data, int to);
  void receive(const Call& call, void* data, int from);

  // What this group's stream is given later begins when `other` has done what it has been given by now; and the other way
  // round.
  void waitForStream(CuStream other);
  void letStreamWait(CuStream other);

  // Between an array of this host and one on the GPU; both are as long as the fingerprint says. Not a collective.
  void copyToDevice(const Call& call, const void* host, void* onDevice);
  void copyToHost(const Call& call, const void* onDevice, void* host);

 private:
  // Runs the second phase; after a Failure nothing of it is under way any more.
  void onGpu(const std::function<void()>& run);
  void giveUp() noexcept;
  void awaitStream(const Call& call);

  bool isOnDevice(const Call& call) const { return call.fingerprint.onDevice != 0; }
  void agreeOnRow(const Call& call, const Row& row, bool isReduceScatter);

  void copy(const Call& call, void* host, void* onDevice, bool toDevice);
  void inPlace(const Call& call, void* data, bool goesIn, bool comesOut,
               const std::function<void(void* data, std::size_t count)>& operate);
  void allReduceInPieces(const Call& call, const Blocks& arrays);
  void reduceScatterEqual(const Call& call, const Blocks& inputs, const Block& output);
  void reduceScatterUnequal(const Call& call, const Blocks& inputs, const Block& output);
  void allGatherEqual(const Call& call, const Exchange& exchange);
  void sendAndReceive(const Call& call, const Exchange& exchange);
  std::uint8_t* scratch(std::size_t bytes);

  void agreeWith(const Call& call, int peer, int sender);

  std::unique_ptr<Collectives> beside_;
  Connections& connections_;
  Scratch agreementScratch_;
  int rank_;
  int size_;
  const Device& device_;
  Watch watch_;
  NcclCommunicator communicator_;
  Staging staging_;
  Event done_;
  DeviceMemory scratch_;
  bool isEmptyHanded_ = true;  // nothing has been given to the GPU that may be under way
  bool hasLeft_ = false;
};

}  // namespace ringrun
