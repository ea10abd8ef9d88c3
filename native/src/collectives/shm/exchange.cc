#include <cstring>

#include "collectives/agreement.h"
#include "collectives/shm/offers.h"
#include "collectives/shm/shm_collectives.h"

namespace ringrun {

// Every rank takes what is for it from where its giver has it (see offers.h). For a rank that gives n bytes:
//
//   small              1 step       and a copy in
//   registered memory  2 steps      no copy but the takers'
//   anything else      1 per piece  and a copy in
//
// The steps are those of the rank that needs most. Bytes for several ranks, as of an allGather, are copied in once.
void ShmCollectives::exchange(const Call& call, const Exchange& exchange) {
  const std::size_t elementBytes = bytesPerElement(call.fingerprint.dtype);
  Offers offers(arena_, rank_, size_, elementBytes);
  arena_.post(call, {});
  offers.publish(segments_, exchange.gives, rowOf(exchange));
  if (offers.leaveStagingFree()) offers.stage(0);
  arena_.arrive(call);
  offers.receive();
  checkExchange(call.fingerprint, size_, offers.counts());

  takeAtOnce(offers, exchange, elementBytes);
  takeStaged(call, offers, exchange);
  if (offers.includeRegistered()) arena_.step(call);
}

void ShmCollectives::takeAtOnce(const Offers& offers, const Exchange& exchange, std::size_t elementBytes) const {
  for (int distance = 0; distance < size_; ++distance) {
    const int giver = (rank_ + size_ - distance) % size_;
    const Block& take = exchange.takes[static_cast<std::size_t>(giver)];
    if (take.count == 0) continue;
    const void* const own = exchange.gives[static_cast<std::size_t>(giver)].data;
    if (giver == rank_) {
      std::memmove(take.data, own, take.count * elementBytes);
    } else if (!offers.isStaged(rank_, giver)) {
      std::memcpy(take.data, offers.blockFor(rank_, giver, segments_), take.count * elementBytes);
    }
  }
}

// The halves of staging alternate: while a rank still copies one piece out, the next is copied into the other half.
// A rank that writes the piece after that has seen all ranks at a step after the first.
void ShmCollectives::takeStaged(const Call& call, const Offers& offers, const Exchange& exchange) {
  const std::size_t elementBytes = bytesPerElement(call.fingerprint.dtype);
  const std::uint64_t longest = offers.longestStream();
  for (std::uint64_t begin = 0; begin < longest; begin += kPieceBytes) {
    if (begin > 0 || !offers.leaveStagingFree()) {
      offers.stage(begin);
      arena_.step(call);
    }
    takePiece(offers, exchange.takes, elementBytes, begin);
    arena_.nextStaging();
  }
}

// What is for this rank among the bytes of every stream that are in staging now, from `begin` on.
void ShmCollectives::takePiece(const Offers& offers, const Blocks& takes, std::size_t elementBytes,
                               std::uint64_t begin) const {
  for (int distance = 1; distance < size_; ++distance) {
    const int giver = (rank_ + size_ - distance) % size_;
    if (!offers.isStaged(rank_, giver)) continue;
    const Block& take = takes[static_cast<std::size_t>(giver)];
    const std::uint64_t first = offers.placeInStream(rank_, giver);
    const Range part = overlapOf({first, first + take.count * elementBytes}, {begin, begin + kPieceBytes});
    if (part.length() == 0) continue;
    std::memcpy(static_cast<std::uint8_t*>(take.data) + part.begin - first,
                arena_.stagingOf(giver) + part.begin - begin, part.length());
  }
}

}  // namespace ringrun
