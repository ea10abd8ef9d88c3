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

class Offers;

// An array of which each of the first `owners` ranks has a part.
struct Shares {
  int owners;
  DType dtype;
  std::size_t count;

  // In elements; empty for those who own none.
  Range of(int place) const;
};

// What travels of a dtype while its reduction is not complete.
DType partialDType(DType dtype);

// Collectives of the ranks of one host, which are told by their place there: in a group of one host, that is the rank. A *share* is the range of elements that one rank reduces for allRanks; a *piece*
// is what goes through staging at once; *registered* memory is that of segments, which all ranks have mapped.
class ShmCollectives : public Collectives {
 public:
  // A collective. `connections` outlives it. Throws Failure.
  ShmCollectives(Connections& connections, const Call& call);

  int size() const override { return size_; }
  void allReduce(const Call& call, void* data) override;
  void reduce(const Call& call, void* data) override;
  void reduceScatter(const Call& call, const Blocks& inputs, const Block& output) override;
  void broadcast(const Call& call, void* data) override;
  void exchange(const Call& call, const Exchange& exchange) override;
  void barrier(const Call& call) override;
  Allocation allocate(const Call& call) override;
  void wakeLocalRanks() noexcept override;

  // An all-reduce in parts, between which others may have their say: beginShares; for each range of the own share,
  // which counts from 0, reduceInShare and later spreadFromShare; endShares. With registered memory each does its part;
  // otherwise everything goes through staging in the first and in the last, and nothing is left to the two in between.
  //
  // All ranks have the same fingerprint when the first returns. Arrays change from the first spreadFromShare on.

  // `partial` will hold the own share of all ranks' `data`, reduced but for AVG's division, in partialDType().
  void beginShares(const Call& call, const Shares& shares, const void* data, void* partial);
  void reduceInShare(const Call& call, const Shares& shares, const Range& range, void* partial) const;

  // All ranks' `data` becomes the shares that their owners have in `complete`.
  void spreadFromShare(const Shares& shares, const Range& range, const void* complete) const;
  void endShares(const Call& call, const Shares& shares, const void* complete, void* data);

  // broadcast() from the rank at this place, whatever the fingerprint says.
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

  void takeAtOnce(const Offers& offers, const Exchange& exchange, std::size_t elementBytes) const;
  void takeStaged(const Call& call, const Offers& offers, const Exchange& exchange);
  void takePiece(const Offers& offers, const Blocks& takes, std::size_t elementBytes, std::uint64_t begin) const;

  void stageInputs(const Offers& offers, const Blocks& inputs, std::size_t elementBytes, std::uint64_t begin) const;
  void reduceInputs(const Call& call, const Offers& offers, const Blocks& inputs, const Block& output);
  void reduceRange(const Fingerprint& fingerprint, const Offers& offers, const Block& input, const Block& output,
                   const Range& range) const;
  std::uint64_t longestStagedInput(const Offers& offers, const Blocks& inputs) const;
  std::size_t slotBytes() const;

  // As posted for the current operation.
  bool isRegistered(int rank) const { return arena_.postOf(rank).placement.isRegistered(); }
  int ranksRegistered() const;
  std::uint8_t* registeredArrayOf(int rank) const;

  Range shareOf(int rank, const Fingerprint& fingerprint, std::size_t count) const;
  // In and out of staging, of a piece of `count` elements: what others will reduce, and what `owner` has reduced.
  void stageSharesOfOthers(const Fingerprint& fingerprint, std::size_t count, const std::uint8_t* piece) const;
  void collectShareOf(int owner, const Fingerprint& fingerprint, std::size_t count, std::uint8_t* piece) const;

  int rank_;
  int size_;
  ControlMesh& mesh_;
  Arena arena_;
  Segments segments_;
};

}  // namespace ringrun
