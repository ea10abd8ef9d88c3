#include "collectives/tcp/agree.h"

#include <utility>
#include <vector>

#include "collectives/tcp/all_gather.h"

namespace ringrun {

// Dissemination: in each round every rank sends a message to the rank `distance` above it, and receives one
// from the rank as far below. After ⌈log₂ size⌉ rounds each rank has heard from all others, directly or indirectly.
void agree(TeamOperation& team) {
  for (int distance = 1; distance < team.size(); distance *= 2) {
    team.transfer({{team.above(distance), nullptr, 0}}, {{team.below(distance), nullptr, 0}});
  }
}

Counts agreeOnRows(TeamOperation& team, const Row& row) {
  std::vector<Row> rows(static_cast<std::size_t>(team.size()), Row(row.size()));
  rows[static_cast<std::size_t>(team.place())] = row;
  Spans spans;
  for (Row& one : rows) spans.push_back({reinterpret_cast<std::uint8_t*>(one.data()), one.size() * sizeof one.front()});
  bruckAllGather(team, spans);
  return Counts(std::move(rows));
}

}  // namespace ringrun
