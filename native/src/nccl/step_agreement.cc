#include "nccl/step_agreement.h"

#include <algorithm>
#include <string>

#include "base/failure.h"

namespace ringrun {
namespace {

// Places in a row.
constexpr std::size_t kHasRun = 0;
constexpr std::size_t kRecordedAt = 1;
constexpr std::size_t kExchanges = 2;

std::string nameOf(std::uint64_t kind) {
  switch (static_cast<GpuExchange::Kind>(kind)) {
    case GpuExchange::Kind::Sum: return "allReduce (SUM)";
    case GpuExchange::Kind::Average: return "allReduce (AVG)";
    case GpuExchange::Kind::Gather: return "allGather";
  }
  return "an unknown collective";
}

std::string describe(int rank, const Row& row, std::size_t at) {
  return "rank " + std::to_string(rank) + " has " + nameOf(row[at]) + " of " + withThousandsSeparated(row[at + 1]) +
         (row[at + 1] == 1 ? " element" : " elements");
}

}  // namespace

Row rowOf(const GpuProgram::Offer& offer, const std::vector<GpuExchange>& exchanges) {
  Row row{offer.hasRun ? 1u : 0u, offer.recordedAt};
  for (const GpuExchange& one : exchanges) {
    row.push_back(static_cast<std::uint64_t>(one.kind));
    row.push_back(one.count);
  }
  return row;
}

void checkStep(const Fingerprint& fingerprint, const std::vector<Row>& rows) {
  for (std::size_t at = kExchanges; at < rows.front().size(); at += 2) {
    for (std::size_t rank = 1; rank < rows.size(); ++rank) {
      if (std::equal(rows[rank].begin() + static_cast<std::ptrdiff_t>(at), rows[rank].begin() + static_cast<std::ptrdiff_t>(at) + 2,
                     rows[0].begin() + static_cast<std::ptrdiff_t>(at))) {
        continue;
      }
      const int other = static_cast<int>(rank);
      throw Failure(FailureCode::Mismatch, {{0, fingerprint}, {other, fingerprint}},
                    "collective " + std::to_string((at - kExchanges) / 2) + ": " + describe(0, rows[0], at) + ", " +
                        describe(other, rows[rank], at));
    }
  }
}

GpuProgram::Way wayOf(const std::vector<Row>& rows) {
  const auto isReplayable = [&](const Row& row) { return row[kRecordedAt] != 0 && row[kRecordedAt] == rows.front()[kRecordedAt]; };
  if (std::all_of(rows.begin(), rows.end(), isReplayable)) return GpuProgram::Way::Replay;
  const auto hasRun = [](const Row& row) { return row[kHasRun] != 0; };
  return std::all_of(rows.begin(), rows.end(), hasRun) ? GpuProgram::Way::Record : GpuProgram::Way::Direct;
}

}  // namespace ringrun
