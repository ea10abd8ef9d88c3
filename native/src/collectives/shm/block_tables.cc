#include "collectives/shm/offers.h"

#include <algorithm>
#include <cstring>

namespace ringrun {

Offers::Offers(Arena& arena, int rank, int size, std::size_t elementBytes)
    : arena_(arena), rank_(rank), size_(size), elementBytes_(elementBytes), heads_(wordsEach() * index(size)) {}

void Offers::publish(const Segments& segments, const Blocks& gives, const Row& row) {
  place(gives, nullptr);
  if (!fitsPayload(rank_)) place(gives, &segments);
  std::uint64_t* const head = heads_.data() + wordsEach() * index(rank_);
  std::copy(row.begin(), row.end(), head + 1 + 2 * size_);
  std::memcpy(headOf(rank_), head, headBytes());
  if (fitsPayload(rank_)) stream_.copy(0, stream_.bytes(), arena_.payloadOf(rank_) + headBytes());
}

// Puts blocks into the stream, except those that lie in one of the segments.
void Offers::place(const Blocks& gives, const Segments* segments) {
  std::uint64_t* const head = heads_.data() + wordsEach() * index(rank_);
  stream_ = {};
  for (int distance = 1; distance < size_; ++distance) {
    const int taker = (rank_ + distance) % size_;
    const Block& block = gives[index(taker)];
    const std::uint64_t bytes = block.count * elementBytes_;
    if (bytes == 0) continue;
    Placement placement = segments == nullptr ? Placement{} : segments->placementOf(block.data, bytes);
    if (!placement.isRegistered()) placement.offset = stream_.add(block.data, bytes);
    head[1 + 2 * index(taker)] = placement.offset;
    head[2 + 2 * index(taker)] = placement.segment;
  }
  head[0] = stream_.bytes();
}

void Offers::receive() {
  for (int giver = 0; giver < size_; ++giver) {
    std::memcpy(heads_.data() + wordsEach() * index(giver), headOf(giver), headBytes());
  }
  if (!leaveStagingFree()) arena_.nextStaging();
}

Counts Offers::counts() const {
  std::vector<Row> rows;
  for (int giver = 0; giver < size_; ++giver) {
    const std::uint64_t* const row = words(giver) + 1 + 2 * size_;
    rows.emplace_back(row, row + 2 * size_);
  }
  return Counts(std::move(rows));
}

std::uint8_t* Offers::blockFor(int taker, int giver, const Segments& segments) const {
  const std::uint64_t offset = words(giver)[1 + 2 * index(taker)];
  Placement placement;
  placement.offset = offset;
  placement.segment = static_cast<std::uint32_t>(segmentOf(taker, giver));
  if (placement.isRegistered()) return segments.locate(placement, giver);
  return arena_.payloadOf(giver) + headBytes() + offset;
}

bool Offers::isStagedBySome(int taker) const {
  for (int giver = 0; giver < size_; ++giver) {
    if (giver != taker && isStaged(taker, giver)) return true;
  }
  return false;
}

std::uint64_t Offers::longestStream() const {
  std::uint64_t longest = 0;
  for (int giver = 0; giver < size_; ++giver) {
    if (!fitsPayload(giver)) longest = std::max(longest, words(giver)[0]);
  }
  return longest;
}

void Offers::stage(std::uint64_t begin) const {
  if (!fitsPayload(rank_)) stream_.copy(begin, kPieceBytes, arena_.stagingOf(rank_));
}

bool Offers::includeRegistered() const {
  for (int giver = 0; giver < size_; ++giver) {
    for (int taker = 0; taker < size_; ++taker) {
      if (segmentOf(taker, giver) != 0) return true;
    }
  }
  return false;
}

}  // namespace ringrun
