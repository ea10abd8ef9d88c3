#include <cstring>

#include "collectives/lengths.h"
#include "collectives/shm/block_tables.h"
#include "collectives/shm/shm_collectives.h"

namespace ringrun {

// Every rank copies its blocks from where the senders have them (block_tables.h). For a rank that sends n
// bytes:
//
//   small              1 step            the sender copies into its payload
//   registered memory  2 steps           receivers read in place
//   otherwise          1 for each piece  the sender copies into staging
//
// All ranks take as many steps as the rank that needs most. Bytes for several ranks, as in allGather, are copied
// in once.
void ShmCollectives::exchange(const Call& call, const Exchange& exchange) {
  const std::size_t elementBytes = bytesPerElement(call.fingerprint.dtype);
  BlockTables tables(arena_, rank_, size_, elementBytes);
  arena_.post(call, {});
  tables.publish(allocations_, exchange.sends, rowOf(exchange));
  if (tables.fitInPayload()) tables.stage(0);
  arena_.arrive(call);
  tables.readAll();
  checkExchange(call.fingerprint, size_, tables.counts());

  copyUnstaged(tables, exchange, elementBytes);
  copyStaged(call, tables, exchange);
  if (tables.anyRegistered()) arena_.step(call);
}

void ShmCollectives::copyUnstaged(const BlockTables& tables, const Exchange& exchange, std::size_t elementBytes) const {
  for (int distance = 0; distance < size_; ++distance) {
    const int sender = (rank_ + size_ - distance) % size_;
    const Block& incoming = exchange.receives[static_cast<std::size_t>(sender)];
    if (incoming.count == 0) continue;
    const void* const own = exchange.sends[static_cast<std::size_t>(sender)].data;
    if (sender == rank_) {
      std::memmove(incoming.data, own, incoming.count * elementBytes);
    } else if (!tables.isStaged(rank_, sender)) {
      std::memcpy(incoming.data, tables.blockFor(rank_, sender, allocations_), incoming.count * elementBytes);
    }
  }
}

// The halves of staging alternate: while one rank copies a piece out, others copy the next one into the other
// half. A rank that writes the piece after that has seen all ranks at a step after the first.
void ShmCollectives::copyStaged(const Call& call, const BlockTables& tables, const Exchange& exchange) {
  const std::size_t elementBytes = bytesPerElement(call.fingerprint.dtype);
  const std::uint64_t longest = tables.longestPacked();
  for (std::uint64_t begin = 0; begin < longest; begin += kPieceBytes) {
    if (begin > 0 || !tables.fitInPayload()) {
      tables.stage(begin);
      arena_.step(call);
    }
    copyPiece(tables, exchange.receives, elementBytes, begin);
    arena_.nextStaging();
  }
}

// Copies this rank's part of every sender's piece in staging, from `begin` of its packed blocks.
void ShmCollectives::copyPiece(const BlockTables& tables, const Blocks& receives, std::size_t elementBytes,
                               std::uint64_t begin) const {
  for (int distance = 1; distance < size_; ++distance) {
    const int sender = (rank_ + size_ - distance) % size_;
    if (!tables.isStaged(rank_, sender)) continue;
    const Block& incoming = receives[static_cast<std::size_t>(sender)];
    const std::uint64_t first = tables.packedOffset(rank_, sender);
    const Range part = overlapOf({first, first + incoming.count * elementBytes}, {begin, begin + kPieceBytes});
    if (part.length() == 0) continue;
    std::memcpy(static_cast<std::uint8_t*>(incoming.data) + part.begin - first,
                arena_.stagingOf(sender) + part.begin - begin, part.length());
  }
}

}  // namespace ringrun
