#pragma once

namespace ringrun {

// The rounds in which every two of `hosts` meet once, and no host meets two at a time (circle method).
int roundsOf(int hosts);

// The host that `host` meets in a round, or -1 if it has none there.
int partnerIn(int round, int host, int hosts);

}  // namespace ringrun
