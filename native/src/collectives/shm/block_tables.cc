#include "collectives/shm/block_tables.h"

#include <algorithm>
#include <cstring>

namespace ringrun {

BlockTables::BlockTables(Arena& arena, int rank, int size, std::size_t elementBytes)
    : arena_(arena), rank_(rank), size_(size), elementBytes_(elementBytes), tables_(wordsPerTable() * index(size)) {}

void BlockTables::publish(const SharedAllocations& allocations, const Blocks& sends, const Row& row) {
  pack(sends, nullptr);
  if (!fitsPayload(rank_)) pack(sends, &allocations);
  std::uint64_t* const table = tables_.data() + wordsPerTable() * index(rank_);
  std::copy(row.begin(), row.end(), table + 1 + 2 * size_);
  std::memcpy(tableOf(rank_), table, tableBytes());
  if (fitsPayload(rank_)) packed_.copy(0, packed_.bytes(), arena_.payloadOf(rank_, kEagerBytes) + tableBytes());
}

// Packs the blocks, except those in a shared allocation.
void BlockTables::pack(const Blocks& sends, const SharedAllocations* allocations) {
  std::uint64_t* const table = tables_.data() + wordsPerTable() * index(rank_);
  packed_ = {};
  for (int distance = 1; distance < size_; ++distance) {
    const int receiver = (rank_ + distance) % size_;
    const Block& block = sends[index(receiver)];
    const std::uint64_t bytes = block.count * elementBytes_;
    if (bytes == 0) continue;
    Placement placement = allocations == nullptr ? Placement{} : allocations->placementOf(block.data, bytes);
    if (!placement.isRegistered()) placement.offset = packed_.add(block.data, bytes);
    table[1 + 2 * index(receiver)] = placement.offset;
    table[2 + 2 * index(receiver)] = placement.allocation;
  }
  table[0] = packed_.bytes();
}

void BlockTables::readAll() {
  for (int sender = 0; sender < size_; ++sender) {
    std::memcpy(tables_.data() + wordsPerTable() * index(sender), tableOf(sender), tableBytes());
  }
  if (!fitInPayload()) arena_.nextStaging();
}

Counts BlockTables::counts() const {
  std::vector<Row> rows;
  for (int sender = 0; sender < size_; ++sender) {
    const std::uint64_t* const row = words(sender) + 1 + 2 * size_;
    rows.emplace_back(row, row + 2 * size_);
  }
  return Counts(std::move(rows));
}

std::uint8_t* BlockTables::blockFor(int receiver, int sender, const SharedAllocations& allocations) const {
  const std::uint64_t offset = words(sender)[1 + 2 * index(receiver)];
  Placement placement;
  placement.offset = offset;
  placement.allocation = static_cast<std::uint32_t>(allocationOf(receiver, sender));
  if (placement.isRegistered()) return allocations.locate(placement, sender);
  return arena_.payloadOf(sender, kEagerBytes) + tableBytes() + offset;
}

bool BlockTables::isStagedBySome(int receiver) const {
  for (int sender = 0; sender < size_; ++sender) {
    if (sender != receiver && isStaged(receiver, sender)) return true;
  }
  return false;
}

std::uint64_t BlockTables::longestPacked() const {
  std::uint64_t longest = 0;
  for (int sender = 0; sender < size_; ++sender) {
    if (!fitsPayload(sender)) longest = std::max(longest, words(sender)[0]);
  }
  return longest;
}

void BlockTables::stage(std::uint64_t begin) const {
  if (!fitsPayload(rank_)) packed_.copy(begin, kPieceBytes, arena_.stagingOf(rank_));
}

bool BlockTables::anyRegistered() const {
  for (int sender = 0; sender < size_; ++sender) {
    for (int receiver = 0; receiver < size_; ++receiver) {
      if (allocationOf(receiver, sender) != 0) return true;
    }
  }
  return false;
}

}  // namespace ringrun
