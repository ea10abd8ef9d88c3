#pragma once

#include "base/operation.h"
#include "nccl/device.h"
#include "nccl/nccl.h"
#include "nccl/stream.h"
#include "nccl/watch.h"

namespace ringrun {

// One rank's end of a communicator of NCCL, from forming it to giving it up. It is *non-blocking*: its functions return
// at once, and what they have begun is looked after by settle(). Its operations run on one stream, in the order of the
// calls.
class NcclCommunicator {
 public:
  // A collective: returns when all ranks have come. `watch` outlives it. Throws Failure, and has given everything up then.
  NcclCommunicator(const Device& device, const Watch& watch, const NcclUniqueId& id, int rank, int size, const Call& call);
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;
  // Aborts, unless it was left.
  ~NcclCommunicator();

  // The functions below take arrays on the GPU and counts of elements, and put their work on the stream.
  void allReduce(const Call& call, void* data, std::size_t count);
  void broadcast(const Call& call, void* data, std::size_t count);
  // `data` changes on the root alone.
  void reduce(const Call& call, void* data, std::size_t count);
  // Into `into` of this rank's part; `from` is this rank's array, or empty ones, of each rank's count.
  void reduceTo(const Call& call, const void* from, void* into, std::size_t count, int root);
  // `all` becomes allRanks's `own`, `count` elements each.
  void allGather(const Call& call, const void* own, void* all, std::size_t count);
  void reduceScatter(const Call& call, const void* all, void* own, std::size_t count);
  void send(const Call& call, const void* data, std::size_t count, int to);
  void receive(const Call& call, void* data, std::size_t count, int from);

  // Fuses what `issue` issues into one launch, in which no part waits for another (ncclGroupStart, ncclGroupEnd).
  template <typename Issue>
  void together(const Issue& issue) {
    beginGroup();
    std::optional<Failure> failure = failureOf(issue);
    // After an error inside, NCCL reports it here once more, without saying of what.
    const std::optional<Failure> failureOfAll = failureOf([this] { endGroup(); });
    if (!failure) failure = failureOfAll;
    if (failure) throw Failure(*failure);
  }

  // Waits until what was issued is on the stream: only then may the stream be given what depends on it. Throws Failure.
  void settle(const Call& call);

  // Whether it is; for a wait that goes on. Throws Failure for an error that NCCL has met meanwhile, whoever caused it.
  bool isSettled() const;

  const Stream& stream() const { return stream_; }

  // Ends what is under way on this rank. Never hangs; false when NCCL did not come to an end in time, and may use its
  // memory still. Nothing may follow.
  bool abort() noexcept;

  // Says farewell: allRanks has issued the same, and it is done. Never hangs.
  void leave(const Call& call) noexcept;

 private:
  void beginGroup() const;
  void endGroup() const;

  const Device& device_;
  const Watch& watch_;
  NcclComm comm_ = nullptr;
  Stream stream_;
};

}  // namespace ringrun
