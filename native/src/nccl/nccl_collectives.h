#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "collectives/lengths.h"
#include "collectives/collectives.h"
#include "collectives/tcp/scratch.h"
#include "gpu/compute_device.h"
#include "gpu/exchanges.h"
#include "gpu/memory.h"
#include "gpu/program.h"
#include "nccl/communicator.h"
#include "nccl/staging.h"
#include "nccl/watchdog.h"
#include "transport/connections.h"

namespace ringrun {

// Collectives on GPUs through NCCL, with the CPU collectives of the same group (`cpu`). Every operation has two
// phases:
//
//   1. The ranks agree on it over the CPU connections: all have arrived, with the same operation and lengths.
//      Where NCCL would return wrong bytes or hang, this throws a Failure, and no array has changed.
//   2. NCCL moves the data, while the connections detect dead peers (watchdog.h).
//
// An array is in host memory and goes through the GPU in pieces (staging.h), or on the GPU, where NCCL uses it
// in place. The fingerprint states which; it is equal on all ranks. Pieces depend only on lengths and the
// number of ranks, so that all ranks make the same calls. Bitwise and quantized reductions, which NCCL lacks, run on the CPU.
class NcclCollectives : public Collectives {
 public:
  // A collective. `connections` must outlive this object. Throws Failure.
  NcclCollectives(std::unique_ptr<Collectives> cpu, Connections& connections, const Device& device, const NcclUniqueId& id,
                  const Call& call);
  ~NcclCollectives() override;

  int size() const override { return size_; }
  void allReduce(const Call& call, void* data) override;
  void allReduceCoalesced(const Call& call, const Blocks& arrays) override;
  void allReduceQuantized(const Call& call, const QuantizedReduction& reduction) override { cpu_->allReduceQuantized(call, reduction); }
  void reduce(const Call& call, void* data) override;
  void reduceScatter(const Call& call, const Blocks& inputs, const Block& output) override;
  void broadcast(const Call& call, void* data) override;
  void exchange(const Call& call, const Exchange& exchange) override;
  void barrier(const Call& call) override;

  // Page-locked memory, which the GPU copies from and to directly.
  Allocation allocate(const Call& call) override;

  void follow(const Routes& routes) override { cpu_->follow(routes); }
  void wakeLocalRanks() noexcept override { cpu_->wakeLocalRanks(); }

  const Device& device() const { return device_; }
  const Stream& stream() const { return communicator_.stream(); }

  // A message between GPUs, in the order of the group's operations on both ranks, which agree on it first.
  // Throws Failure: Mismatch if dtypes or lengths differ.
  void send(const Call& call, const void* data, int to);
  void receive(const Call& call, void* data, int from);

  // A run of a program whose collectives are those of this group. `program` and `slots` stay the same until the run has ended.
  struct ProgramRun {
    std::shared_ptr<ComputeDevice> device;
    std::shared_ptr<GpuProgram> program;
    std::vector<std::uint8_t*> slots;
    std::vector<GpuExchange> exchanges;
    std::function<void()> ended;       // on the thread of the device, after each run. May be empty.
    std::shared_ptr<const void> owns;  // keeps the memory of slots and collectives
  };

  // A collective: the ranks agree once on all collectives of the program, and on how it is carried out.
  void runProgram(const Call& call, const ProgramRun& run);

  // waitForStream: later work of this group's stream starts after the current work of `other`. makeStreamWait:
  // the reverse.
  void waitForStream(CuStream other);
  void makeStreamWait(CuStream other);

  // Copy between host and GPU arrays of the fingerprint's length. Not collectives.
  void copyToDevice(const Call& call, const void* host, void* onDevice);
  void copyToHost(const Call& call, const void* onDevice, void* host);

 private:
  // Runs the second phase. After a Failure, all of its GPU work has ended.
  void onGpu(const std::function<void()>& run);
  void abandonGpuWork() noexcept;
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
  GpuProgram::Step agreeOnStep(const Call& call, const ProgramRun& run);
  void forgetRecords(bool waits) noexcept;

  std::unique_ptr<Collectives> cpu_;
  Connections& connections_;
  Scratch agreementScratch_;
  int rank_;
  int size_;
  const Device& device_;
  Watchdog watchdog_;
  NcclCommunicator communicator_;
  Staging staging_;
  Event done_;
  DeviceMemory scratch_;
  bool isGpuIdle_ = true;  // no GPU work of this group is pending
  bool hasLeft_ = false;
  // Identifies this group among all of the process, also after it has ended.
  const std::uint64_t owner_;
  // Programs that may have recorded collectives of this group. NCCL frees a communicator only when no record has any.
  struct Recorded {
    std::weak_ptr<ComputeDevice> device;
    std::weak_ptr<GpuProgram> program;
  };
  std::vector<Recorded> recorded_;
};

}  // namespace ringrun
