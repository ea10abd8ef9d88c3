#pragma once

#include <cstdint>
#include <vector>

#include "base/operation.h"
#include "collectives/blocks.h"

namespace ringrun {

// Checks of array lengths that may differ between ranks. Every rank sends the lengths that it knows to all
// others before any data moves, and checks those of all ranks, so all reach the same result. A rank sends one
// *row*: the elements that it sends to each rank, then the elements that it receives from each.

using Row = std::vector<std::uint64_t>;

Row rowOf(const Exchange& exchange);

// The row of a reduceScatter: its inputs are sent to the ranks that receive their reduction.
Row rowOf(const Blocks& inputs, int rank, const Block& output);

// The rows of all ranks.
class Counts {
 public:
  explicit Counts(std::vector<Row> rows) : rows_(std::move(rows)) {}

  std::uint64_t sent(int from, int to) const { return rows_[index(from)][index(to)]; }
  std::uint64_t received(int by, int from) const { return rows_[index(by)][rows_.size() + index(from)]; }

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  std::vector<Row> rows_;
};

// Throws Mismatch unless every sent block is as long as the block that receives it. Names every pair that
// differs.
void checkExchange(const Fingerprint& fingerprint, int size, const Counts& counts);

// Throws Mismatch unless all ranks have inputs of the same lengths, and each rank an output as long as the
// input for it.
void checkReduceScatter(const Fingerprint& fingerprint, int size, const Counts& counts);

// Throws Mismatch unless all ranks have arrays of the same lengths. `rows`: for each rank the lengths of its
// arrays, equally many on all ranks.
void checkLengths(const Fingerprint& fingerprint, const std::vector<Row>& rows);

}  // namespace ringrun
