#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/lengths.h"
#include "collectives/blocks.h"
#include "collectives/shm/packed_blocks.h"
#include "transport/shm/arena.h"
#include "transport/shm/shared_allocations.h"

namespace ringrun {

// The tables that ranks publish with their posts before blocks move: the lengths that a rank knows, and the
// locations of the blocks that it sends. The sender chooses one of three locations, and the receivers follow:
//
//   its payload        all blocks, if they fit
//   registered memory  blocks that lie in it; the sender must not return before they have been read
//   its staging        all other blocks, in pieces
//
// The blocks in payload and staging are *packed*, those for the next rank first, so that with equal lengths
// at any time every rank reads from a different sender. A table consists of words of 8 bytes:
//
//   [packed bytes] [for each rank: offset, allocation] [row of lengths, see lengths.h]
//
// An offset in allocation 0 is one in the packed blocks. The payload begins with the table; the packed blocks
// follow if they fit. A table of more than kEagerBytes (256 ranks or more) is written to staging, which is
// large enough for any host.
//
// Call publish(), the arrival, readAll(), then the other functions.
class BlockTables {
 public:
  BlockTables(Arena& arena, int rank, int size, std::size_t elementBytes);

  // Writes this rank's table, and its packed blocks if they fit.
  void publish(const SharedAllocations& allocations, const Blocks& sends, const Row& row);

  // True if tables fit into the payload: pieces may then be copied into staging before the arrival.
  bool fitInPayload() const { return tableBytes() <= kEagerBytes; }

  // Reads all ranks' tables. Switches to the other half of staging if they were in this one.
  void readAll();

  Counts counts() const;

  // Address of a block that is not staged.
  std::uint8_t* blockFor(int receiver, int sender, const SharedAllocations& allocations) const;

  // True if the block goes through staging. For this rank's own blocks, available after publish().
  bool isStaged(int receiver, int sender) const { return allocationOf(receiver, sender) == 0 && !fitsPayload(sender); }

  // True if a block for `receiver` goes through the staging of any other rank.
  bool isStagedBySome(int receiver) const;

  // Offset of a block in its sender's packed blocks.
  std::uint64_t packedOffset(int receiver, int sender) const { return words(sender)[1 + 2 * index(receiver)]; }

  // Largest packed size of the senders that use staging; 0 if none does.
  std::uint64_t longestPacked() const;

  // Copies a piece of this rank's packed blocks, from byte `begin`, into staging, if they go through it.
  void stage(std::uint64_t begin) const;

  // True if any rank reads registered memory of another.
  bool anyRegistered() const;

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  std::size_t wordsPerTable() const { return 1 + 4 * index(size_); }
  std::size_t tableBytes() const { return wordsPerTable() * sizeof(std::uint64_t); }
  const std::uint64_t* words(int sender) const { return tables_.data() + wordsPerTable() * index(sender); }
  std::uint64_t allocationOf(int receiver, int sender) const { return words(sender)[2 + 2 * index(receiver)]; }
  bool fitsPayload(int sender) const { return tableBytes() + words(sender)[0] <= kEagerBytes; }
  std::uint8_t* tableOf(int sender) const {
    return fitInPayload() ? arena_.payloadOf(sender, kEagerBytes) : arena_.stagingOf(sender);
  }
  void pack(const Blocks& sends, const SharedAllocations* allocations);

  Arena& arena_;
  int rank_;
  int size_;
  std::size_t elementBytes_;
  std::vector<std::uint64_t> tables_;
  PackedBlocks packed_;
};

}  // namespace ringrun
