#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/collectives.h"
#include "collectives/split.h"
#include "transport/connections.h"
#include "transport/shm/arena.h"
#include "transport/shm/shared_allocations.h"

namespace ringrun {

class BlockTables;

// The division of an array among the first `owners` ranks.
struct Shares {
  int owners;
  DType dtype;
  std::size_t count;

  // The share of a rank, in elements; empty for ranks beyond `owners`.
  Range of(int place) const;
};

// The dtype of partial results.
DType partialDType(DType dtype);

// Collectives of the ranks of one host, identified by their index there; in a group of one host that is the
// rank. A *share* is the range of elements that one rank reduces for all; a *piece* goes through staging at
// once; *registered* memory is that of shared allocations, which all ranks have mapped.
class ShmCollectives : public Collectives {
 public:
  // A collective. `connections` must outlive this object. Throws Failure.
  ShmCollectives(Connections& connections, const Call& call);

  int size() const override { return size_; }
  void allReduce(const Call& call, void* data) override;
  void reduce(const Call& call, void* data) override;
  void reduceScatter(const Call& call, const Blocks& inputs, const Block& output) override;
  void broadcast(const Call& call, void* data) override;
  void exchange(const Call& call, const Exchange& exchange) override;
  void barrier(const Call& call) override;
  Allocation allocate(const Call& call) override;
  HostAllocation allocateForHost(const Call& call) override;
  std::vector<Allocation> memoryOfRanks(const void* data, std::size_t bytes) override;
  void wakeLocalRanks() noexcept override;

  // An all-reduce in parts: beginShares; for each range of this rank's share, counted from 0, reduceInShare and
  // later spreadFromShare; endShares. With registered memory each function does its part; otherwise the first
  // and the last move everything through staging, and the others do nothing.
  //
  // When beginShares returns, all ranks have the same fingerprint. Arrays change from the first spreadFromShare
  // on.

  // Reduces this rank's share of all ranks' `data` into `partial`, in partialDType() and without AVG's division.
  void beginShares(const Call& call, const Shares& shares, const void* data, void* partial);
  void reduceInShare(const Call& call, const Shares& shares, const Range& range, void* partial) const;

  // Writes a range of this rank's share, from `complete`, to all ranks' `data`.
  void spreadFromShare(const Shares& shares, const Range& range, const void* complete) const;
  void endShares(const Call& call, const Shares& shares, const void* complete, void* data);

  // broadcast() from the rank at this index, independent of the fingerprint's root.
  void broadcastFrom(int root, const Call& call, void* data);

 private:
  template <typename Locate>
  void reducePart(const Fingerprint& fingerprint, Locate locate, const Range& held, const Range& share, void* partial) const;
  void allReduceEagerly(const Call& call, void* data);
  void allReduceInPlace(const Call& call);
  void allReduceStaged(const Call& call, std::uint8_t* data, bool firstPieceIsStaged);

  void reduceEagerly(const Call& call, void* data);
  void reduceByShares(const Call& call, std::uint8_t* data);
  void reducePiece(const Call& call, std::uint8_t* data, std::size_t begin, std::size_t length);
  void reduceShare(const Fingerprint& fingerprint, std::size_t begin, std::size_t length,
                   std::uint8_t* piece) const;

  void copyUnstaged(const BlockTables& tables, const Exchange& exchange, std::size_t elementBytes) const;
  void copyStaged(const Call& call, const BlockTables& tables, const Exchange& exchange);
  void copyPiece(const BlockTables& tables, const Blocks& receives, std::size_t elementBytes, std::uint64_t begin) const;

  void stageInputs(const BlockTables& tables, const Blocks& inputs, std::size_t elementBytes, std::uint64_t begin) const;
  void reduceInputs(const Call& call, const BlockTables& tables, const Blocks& inputs, const Block& output);
  void reduceRange(const Fingerprint& fingerprint, const BlockTables& tables, const Block& input, const Block& output,
                   const Range& range) const;
  std::uint64_t longestStagedInput(const BlockTables& tables, const Blocks& inputs) const;
  std::size_t slotBytes() const;

  // Read from the posts of the current operation.
  bool isRegistered(int rank) const { return arena_.postOf(rank).placement.isRegistered(); }
  int ranksRegistered() const;
  std::uint8_t* registeredArrayOf(int rank) const;

  Range shareOf(int rank, const Fingerprint& fingerprint, std::size_t count) const;
  // Copy a piece of `count` elements into staging (the shares of other ranks) and out of it (the share that
  // `owner` has reduced).
  void stageSharesOfOthers(const Fingerprint& fingerprint, std::size_t count, const std::uint8_t* piece) const;
  void collectShareOf(int owner, const Fingerprint& fingerprint, std::size_t count, std::uint8_t* piece) const;

  int rank_;
  int size_;
  ControlMesh& mesh_;
  Arena arena_;
  SharedAllocations allocations_;
};

}  // namespace ringrun
