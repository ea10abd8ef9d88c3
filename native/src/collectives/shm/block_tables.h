#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "collectives/agreement.h"
#include "collectives/blocks.h"
#include "collectives/shm/stream.h"
#include "transport/shm/arena.h"
#include "transport/shm/segments.h"

namespace ringrun {

// What every rank says beside its post before blocks go from rank to rank: the lengths that it knows of, and where the
// blocks lie that it gives to others. The giver chooses among three places, and the takers follow:
//
//   its payload        all that it gives, where that fits there
//   registered memory  what lies there anyway; the giver must not return before it has been read
//   its staging        everything else, in pieces
//
// Blocks in payload and staging make up the rank's *stream*, which begins with the next rank's: where all lengths are
// equal, every rank takes from another one at any time. An offer, in words of 8 bytes:
//
//   [bytes of the stream] [for each rank: offset, segment] [row of lengths, see agreement.h]
//
// where an offset in segment 0 is one in the stream. The payload begins with the offer, and the stream follows where it
// fits. An offer of more than kEagerBytes (256 ranks or more) is in staging, which is enough for any host.
//
// In this order: publish(), the arrival, receive(), and all the rest.
class Offers {
 public:
  Offers(Arena& arena, int rank, int size, std::size_t elementBytes);

  // Writes this rank's offer, and its stream where that fits.
  void publish(const Segments& segments, const Blocks& gives, const Row& row);

  // True if pieces may be copied into staging before the arrival, and read after it.
  bool leaveStagingFree() const { return headBytes() <= kEagerBytes; }

  // Reads all ranks' offers; frees the other half of staging if they were in this one.
  void receive();

  Counts counts() const;

  // Where the block lies, if it can be read at once.
  std::uint8_t* blockFor(int taker, int giver, const Segments& segments) const;

  // Otherwise. Known for this rank's own blocks from publish() on.
  bool isStaged(int taker, int giver) const { return segmentOf(taker, giver) == 0 && !fitsPayload(giver); }

  // True if a block for `taker` goes through the staging of any other rank.
  bool isStagedBySome(int taker) const;

  // Where a block begins in its giver's stream.
  std::uint64_t placeInStream(int taker, int giver) const { return words(giver)[1 + 2 * index(taker)]; }

  // Of those that go through staging; 0 where none does.
  std::uint64_t longestStream() const;

  // Copies a piece of this rank's stream, from its byte `begin`, into staging, if it goes there.
  void stage(std::uint64_t begin) const;

  // True if any rank reads registered memory.
  bool includeRegistered() const;

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  std::size_t wordsEach() const { return 1 + 4 * index(size_); }
  std::size_t headBytes() const { return wordsEach() * sizeof(std::uint64_t); }
  const std::uint64_t* words(int giver) const { return heads_.data() + wordsEach() * index(giver); }
  std::uint64_t segmentOf(int taker, int giver) const { return words(giver)[2 + 2 * index(taker)]; }
  bool fitsPayload(int giver) const { return headBytes() + words(giver)[0] <= kEagerBytes; }
  std::uint8_t* headOf(int giver) const {
    return leaveStagingFree() ? arena_.payloadOf(giver) : arena_.stagingOf(giver);
  }
  void place(const Blocks& gives, const Segments* segments);

  Arena& arena_;
  int rank_;
  int size_;
  std::size_t elementBytes_;
  std::vector<std::uint64_t> heads_;
  Stream stream_;
};

}  // namespace ringrun
