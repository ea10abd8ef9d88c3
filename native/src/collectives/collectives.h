#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/failure.h"
#include "base/operation.h"
#include "collectives/blocks.h"
#include "collectives/buffer.h"
#include "collectives/routes.h"

namespace ringrun {

// An all-reduce of float32 numbers that are sent in few bits (reduce/quantize.h). `error`: as long as `data`, or null: what the
// roundings of this rank lost in earlier calls, which is sent with the next data; see docs/algorithms.md.
struct QuantizedReduction {
  float* data;
  float* error;
  std::size_t count;
  int bits;
};

// Memory from allocate(); mapped while `owner` exists.
struct Allocation {
  void* data = nullptr;
  std::shared_ptr<const void> owner;
};

// Memory shared by all ranks of a host, with this rank's index among them and their number.
struct HostAllocation {
  Allocation allocation;
  int place = 0;
  int ranks = 1;
};

// The collectives of a group. One subclass for each transport, in the folder of that name.
//
// Called by one thread at a time, in groups of two or more ranks. Every function throws Failure. When it throws
// Mismatch, no byte of the caller's arrays has changed on any rank. After a Failure only abort() may follow.
class Collectives {
 public:
  virtual ~Collectives() = default;

  // Number of ranks.
  virtual int size() const = 0;

  // Replaces `data` by its reduction over the ranks: the same bytes on all ranks.
  virtual void allReduce(const Call& call, void* data) = 0;

  // allReduce of each array. All have the fingerprint's dtype; number and lengths are equal on all ranks.
  virtual void allReduceCoalesced(const Call& call, const Blocks& arrays);

  // allReduce of float32 numbers that are rounded to `reduction.bits` where they are sent between hosts, for SUM and AVG. The
  // same bytes on all ranks. Ranks that share memory send nothing and do not round.
  virtual void allReduceQuantized(const Call& call, const QuantizedReduction& reduction) { allReduce(call, reduction.data); }

  // allReduce on rank `call.fingerprint.root` only; `data` of other ranks does not change.
  virtual void reduce(const Call& call, void* data) = 0;

  // Sets `output` to the reduction of all ranks' `inputs` for this rank. Lengths may differ between receiving
  // ranks, and all ranks agree on them. `output` may be this rank's input for itself.
  virtual void reduceScatter(const Call& call, const Blocks& inputs, const Block& output) = 0;

  // Copies `data` from rank `call.fingerprint.root` to all ranks.
  virtual void broadcast(const Call& call, void* data) = 0;

  // Sends rank a's block for rank b to rank b's block for rank a: allGather, gather, scatter and allToAll,
  // which differ in the ranks that send (`call.fingerprint.op`, for the choice of an algorithm). In an
  // allGather, a rank sends one block to all.
  virtual void exchange(const Call& call, const Exchange& exchange) = 0;

  // Returns when every rank has called it.
  virtual void barrier(const Call& call) = 0;

  // Zeroed memory of the fingerprint's dtype and count that this transport reduces in place.
  virtual Allocation allocate(const Call& call) = 0;

  // Zeroed memory of the fingerprint's dtype and count, one per host, which all of its ranks read and write. Only
  // for transports with shared memory inside a host.
  virtual HostAllocation allocateForHost(const Call&) {
    throw Failure(FailureCode::System, {}, "the ranks of this transport share no memory");
  }

  // The same bytes in the memory of each rank, in the order of the ranks, of an array in memory from allocate().
  // Empty if this process has not mapped the memory of all ranks. Not a collective.
  virtual std::vector<Allocation> memoryOfRanks(const void*, std::size_t) { return {}; }

  // Uses these routes from the next operation on. Not a collective, but called between the same operations on all
  // ranks. Without effect if no data crosses hosts.
  virtual void follow(const Routes&) {}

  // Wakes ranks that sleep in shared memory, so that they check their connections at once.
  virtual void wakeLocalRanks() noexcept {}

 private:
  void allReducePack(const Call& call, const Blocks& arrays);

  Buffer pack_;
};

}  // namespace ringrun
