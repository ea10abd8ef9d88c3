#include <cstdint>

#include "collectives/tcp/reduce_scatter.h"
#include "collectives/tcp/terms.h"

namespace ringrun {

// 1 step per segment; every rank sends what it does not reduce itself. `output` may be the own input.
void directReduceScatter(Communicator& team, const Combination& combination, const Blocks& inputs, const Block& output) {
  Terms terms(team, combination, inputs);
  auto* const results = static_cast<std::uint8_t*>(output.data);
  for (std::size_t s = 0; s < terms.segments(); ++s) {
    terms.exchange(s);
    const Range own = terms.segment(team.place(), s);
    if (own.length() > 0) terms.reduceInto(results + own.begin * combination.elementBytes(), s);
  }
}

}  // namespace ringrun
