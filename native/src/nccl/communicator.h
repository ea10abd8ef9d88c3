#pragma once

#include "base/operation.h"
#include "gpu/device.h"
#include "gpu/exchanges.h"
#include "nccl/nccl.h"
#include "gpu/stream.h"
#include "nccl/watchdog.h"

namespace ringrun {

// One rank's side of an NCCL communicator. It is *non-blocking*: functions return at once, and settle() waits
// for the work that they began. Operations run on one stream, in call order.
class NcclCommunicator {
 public:
  // A collective: returns when all ranks have joined. `watchdog` must outlive this object. Throws Failure after
  // releasing everything.
  NcclCommunicator(const Device& device, const Watchdog& watchdog, const NcclUniqueId& id, int rank, int size, const Call& call);
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;
  // Aborts, unless leave() was called.
  ~NcclCommunicator();

  // The functions below take arrays on the GPU and counts of elements, and enqueue their work on the stream.
  void allReduce(const Call& call, void* data, std::size_t count);
  void broadcast(const Call& call, void* data, std::size_t count);
  // Changes `data` on the root only.
  void reduce(const Call& call, void* data, std::size_t count);
  // Reduces `from` of all ranks into `into` on rank `root`.
  void reduceTo(const Call& call, const void* from, void* into, std::size_t count, int root);
  // Gathers the `own` of all ranks, `count` elements each, in `all`.
  void allGather(const Call& call, const void* own, void* all, std::size_t count);
  void reduceScatter(const Call& call, const void* all, void* own, std::size_t count);
  void send(const Call& call, const void* data, std::size_t count, int to);
  void receive(const Call& call, void* data, std::size_t count, int from);

  // A collective of a program, which may be recorded. May be called by a thread that does not use the other functions meanwhile.
  void exchange(const GpuExchange& exchange);

  // Fuses the calls of `issue` into one launch, in which none waits for another (ncclGroupStart, ncclGroupEnd).
  template <typename Issue>
  void fuse(const Issue& issue) {
    beginGroup();
    std::optional<Failure> failure = failureOf(issue);
    // NCCL reports an error inside the group again here, without details.
    const std::optional<Failure> failureOfAll = failureOf([this] { endGroup(); });
    if (!failure) failure = failureOfAll;
    if (failure) throw Failure(*failure);
  }

  // Waits until all calls are enqueued on the stream; only then may dependent work be enqueued. Throws Failure.
  void settle(const Call& call);

  // True if all calls are enqueued. Throws Failure for any error that NCCL detected meanwhile.
  bool isSettled() const;

  const Stream& stream() const { return stream_; }

  // Ends all work of this rank. Never hangs. Returns false if NCCL did not end in time and may still use its
  // memory. No other call may follow.
  bool abort() noexcept;

  // Destroys the communicator after all ranks have completed the same operations. Never hangs.
  void leave(const Call& call) noexcept;

 private:
  void beginGroup() const;
  void endGroup() const;

  const Device& device_;
  const Watchdog& watchdog_;
  NcclComm comm_ = nullptr;
  Stream stream_;
};

}  // namespace ringrun
