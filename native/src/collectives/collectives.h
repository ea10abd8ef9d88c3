#pragma once

#include <memory>

#include "base/failure.h"
#include "base/operation.h"
#include "collectives/blocks.h"
#include "collectives/buffer.h"

namespace ringrun {

// Memory from allocate(); it stays mapped while `owner` is held.
struct Allocation {
  void* data = nullptr;
  std::shared_ptr<const void> owner;
};

// What the ranks of a group do together. One subclass per transport, in the folder of its name.
//
// Called by one thread at a time, in a group of two ranks or more. Every function throws Failure; before a Mismatch no
// byte of the caller's arrays has changed, on any rank. After a Failure only abort() may follow.
class Collectives {
 public:
  virtual ~Collectives() = default;

  // Ranks that these are the collectives of.
  virtual int size() const = 0;

  // Elements of `data` become their reduction over the ranks, the same bytes everywhere.
  virtual void allReduce(const Call& call, void* data) = 0;

  // The same for each of the arrays, of the fingerprint's dtype: as many on every rank, and as long.
  virtual void allReduceCoalesced(const Call& call, const Blocks& arrays);

  // The same on rank `call.fingerprint.root` alone; the `data` of other ranks does not change.
  virtual void reduce(const Call& call, void* data) = 0;

  // `output` becomes the reduction of the blocks that the ranks have for this rank in `inputs`. Ranks may get different
  // lengths, and all of them agree on those. `output` may be this rank's input for itself.
  virtual void reduceScatter(const Call& call, const Blocks& inputs, const Block& output) = 0;

  // `data` becomes that of rank `call.fingerprint.root`.
  virtual void broadcast(const Call& call, void* data) = 0;

  // What rank a gives to rank b is what b takes from a: allGather, gather, scatter and allToAll, which differ in who
  // has something to give (`call.fingerprint.op` tells, for a choice of algorithm). In an allGather every block that a
  // rank gives is the same one.
  virtual void exchange(const Call& call, const Exchange& exchange) = 0;

  // Returns when every rank has called it.
  virtual void barrier(const Call& call) = 0;

  // Zeroed memory of the fingerprint's dtype and count that this transport reduces where it lies.
  virtual Allocation allocate(const Call& call) = 0;

  // Wakes ranks that sleep in memory shared with this one, so that they look at their connections now.
  virtual void wakeLocalRanks() noexcept {}

 private:
  void allReducePack(const Call& call, const Blocks& arrays);

  Buffer pack_;
};

}  // namespace ringrun
