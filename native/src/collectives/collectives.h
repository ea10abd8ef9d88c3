#pragma once

#include <memory>

#include "base/failure.h"
#include "base/mapping.h"
#include "base/operation.h"

namespace ringrun {

// Memory that allocate() hands out; whoever holds `owner` keeps it mapped.
struct Allocation {
  void* data = nullptr;
  std::shared_ptr<const Mapping> owner;
};

// What the ranks of a group do together. One subclass per transport, in the folder of its name, with the same file
// names.
//
// Called by one thread at a time. Every function throws Failure; before a Mismatch no byte of `data` has changed.
// After a Failure only abort() may follow.
class Collectives {
 public:
  virtual ~Collectives() = default;

  // Elements of `data` become their reduction over the ranks, the same bytes everywhere.
  virtual void allReduce(const Call& call, void* data) = 0;

  // `data` becomes that of rank `call.fingerprint.root`.
  virtual void broadcast(const Call& call, void* data) = 0;

  // Returns when every rank has called it.
  virtual void barrier(const Call& call) = 0;

  // Zeroed memory of the fingerprint's dtype and count that this transport reduces where it lies.
  virtual Allocation allocate(const Call& call) = 0;

  // Tells the other ranks that this one failed in the call, and why.
  virtual void abort(const Failure& failure, const Call& call) noexcept = 0;

  // Tells the other ranks that this one leaves in good order; after a barrier, so that nobody needs it any more.
  virtual void leave() noexcept = 0;
};

}  // namespace ringrun
