#include "collectives/lengths.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/failure.h"

namespace ringrun {
namespace {

// Maximum number of differences in one error. In a large group one mistake causes many.
constexpr std::size_t kMaxDifferences = 8;

std::string elements(std::uint64_t count) {
  return withThousandsSeparated(count) + (count == 1 ? " element" : " elements");
}

// Collects all differences, then throws them in one error.
class Differences {
 public:
  void add(int one, int other, const std::string& what) {
    ranks_.insert(one);
    ranks_.insert(other);
    if (++found_ <= kMaxDifferences) text_ += (text_.empty() ? "" : "; ") + what;
  }

  void throwIfAny(const Fingerprint& fingerprint) const {
    if (found_ == 0) return;
    std::vector<InvolvedRank> involved;
    for (const int rank : ranks_) involved.push_back({rank, fingerprint});
    const std::size_t more = found_ - std::min(found_, kMaxDifferences);
    throw Failure(FailureCode::Mismatch, std::move(involved),
                  more == 0 ? text_ : text_ + "; and " + std::to_string(more) + " more");
  }

 private:
  std::set<int> ranks_;
  std::string text_;
  std::size_t found_ = 0;
};

}  // namespace

Row rowOf(const Exchange& exchange) {
  Row row;
  for (const Block& block : exchange.sends) row.push_back(block.count);
  for (const Block& block : exchange.receives) row.push_back(block.count);
  return row;
}

Row rowOf(const Blocks& inputs, int rank, const Block& output) {
  Row row;
  for (const Block& input : inputs) row.push_back(input.count);
  row.resize(2 * inputs.size());
  row[inputs.size() + static_cast<std::size_t>(rank)] = output.count;
  return row;
}

void checkExchange(const Fingerprint& fingerprint, int size, const Counts& counts) {
  Differences differences;
  for (int from = 0; from < size; ++from) {
    for (int to = 0; to < size; ++to) {
      const std::uint64_t sent = counts.sent(from, to);
      const std::uint64_t received = counts.received(to, from);
      if (sent == received) continue;
      differences.add(from, to,
                      "rank " + std::to_string(from) + " sends " + elements(sent) + " to rank " + std::to_string(to) +
                          ", which expects " + withThousandsSeparated(received));
    }
  }
  differences.throwIfAny(fingerprint);
}

void checkReduceScatter(const Fingerprint& fingerprint, int size, const Counts& counts) {
  Differences differences;
  for (int rank = 0; rank < size; ++rank) {
    const std::string name = "rank " + std::to_string(rank);
    for (int to = 0; to < size; ++to) {
      const std::uint64_t first = counts.sent(0, to);
      const std::uint64_t mine = counts.sent(rank, to);
      if (mine == first) continue;
      differences.add(0, rank,
                      "the input for rank " + std::to_string(to) + " has " + elements(first) + " on rank 0 and " +
                          withThousandsSeparated(mine) + " on " + name);
    }
    const std::uint64_t input = counts.sent(rank, rank);
    const std::uint64_t output = counts.received(rank, rank);
    if (input == output) continue;
    differences.add(rank, rank,
                    "the output of " + name + " has " + elements(output) + ", its input " + withThousandsSeparated(input));
  }
  differences.throwIfAny(fingerprint);
}

void checkLengths(const Fingerprint& fingerprint, const std::vector<Row>& rows) {
  Differences differences;
  for (std::size_t rank = 1; rank < rows.size(); ++rank) {
    for (std::size_t array = 0; array < rows[rank].size(); ++array) {
      if (rows[rank][array] == rows[0][array]) continue;
      differences.add(0, static_cast<int>(rank),
                      "array " + std::to_string(array) + " has " + elements(rows[0][array]) + " on rank 0 and " +
                          withThousandsSeparated(rows[rank][array]) + " on rank " + std::to_string(rank));
    }
  }
  differences.throwIfAny(fingerprint);
}

}  // namespace ringrun
