#include "collectives/agree_on_lengths.h"

namespace ringrun {

// Rows are sent as elements of the operation's dtype, so that the operation has one fingerprint throughout. No
// dtype is larger than a length.
std::vector<Row> gatherRows(Collectives& collectives, const Call& call, const Row& row) {
  std::vector<Row> rows(static_cast<std::size_t>(collectives.size()), Row(row.size()));
  const std::uint64_t elements = row.size() * sizeof(std::uint64_t) / bytesPerElement(call.fingerprint.dtype);
  Row own = row;
  Exchange allRows;
  for (Row& one : rows) {
    allRows.sends.push_back({own.data(), elements});
    allRows.receives.push_back({one.data(), elements});
  }
  collectives.exchange(call, allRows);
  return rows;
}

void agreeOnLengths(Collectives& collectives, const Call& call, const Blocks& arrays) {
  if (arrays.empty()) return collectives.barrier(call);
  Row row;
  for (const Block& array : arrays) row.push_back(array.count);
  checkLengths(call.fingerprint, gatherRows(collectives, call, row));
}

}  // namespace ringrun
