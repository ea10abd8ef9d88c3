#pragma once

#include <cstdint>
#include <vector>

#include "base/operation.h"
#include "collectives/blocks.h"

namespace ringrun {

// Where arrays of the ranks may differ in length, every rank tells every other the lengths that it knows of, before any
// data moves, and each checks all of them: so all come to the same verdict. What travels is a *row*: elements that the
// rank gives to each rank, then elements that it takes from each.

using Row = std::vector<std::uint64_t>;

Row rowOf(const Exchange& exchange);

// A reduceScatter's inputs, as if given to those who take their reduction.
Row rowOf(const Blocks& inputs, int rank, const Block& output);

// The rows of all ranks.
class Counts {
 public:
  explicit Counts(std::vector<Row> rows) : rows_(std::move(rows)) {}

  std::uint64_t given(int from, int to) const { return rows_[index(from)][index(to)]; }
  std::uint64_t taken(int by, int from) const { return rows_[index(by)][rows_.size() + index(from)]; }

 private:
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  std::vector<Row> rows_;
};

// Throws Mismatch unless every block that is given is as long as the one that takes it. Names every pair that differs.
void checkExchange(const Fingerprint& fingerprint, int size, const Counts& counts);

// Throws Mismatch unless all ranks have inputs of the same lengths, and each an output as long as the input for it.
void checkReduceScatter(const Fingerprint& fingerprint, int size, const Counts& counts);

// Throws Mismatch unless all ranks have arrays of the same lengths. `rows`: of each rank the lengths of its arrays, as many
// everywhere.
void checkLengths(const Fingerprint& fingerprint, const std::vector<Row>& rows);

}  // namespace ringrun
