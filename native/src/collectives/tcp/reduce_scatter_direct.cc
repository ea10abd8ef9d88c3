#include <cstdint>

#include "collectives/tcp/reduce_scatter.h"
#include "collectives/tcp/segmented_reduce_scatter.h"

namespace ringrun {

// 1 step for each segment; every rank sends the terms that it does not reduce itself. `output` may be this rank's own
// input.
void directReduceScatter(TeamOperation& team, const Combination& combination, const Blocks& inputs, const Block& output) {
  SegmentedReduceScatter reduceScatter(team, combination, inputs, SegmentedReduceScatter::Order::AheadOnLongLinks);
  auto* const results = static_cast<std::uint8_t*>(output.data);
  for (std::size_t s = 0; s < reduceScatter.segments(); ++s) {
    reduceScatter.exchange(s);
    const Range own = reduceScatter.segment(team.place(), s);
    if (own.length() > 0) reduceScatter.reduceInto(results + own.begin * combination.elementBytes(), s);
  }
}

}  // namespace ringrun
