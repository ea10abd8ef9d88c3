#include "collectives/links/rounds.h"

namespace ringrun {
namespace {

// One more than an odd number of hosts: who meets the additional one has no partner.
int evenNumberOf(int hosts) { return hosts + hosts % 2; }

}  // namespace

int roundsOf(int hosts) { return hosts < 2 ? 0 : evenNumberOf(hosts) - 1; }

// Two hosts on the circle meet in the round that is their sum; the last host, in its centre, meets the one that is left.
int partnerIn(int round, int host, int hosts) {
  const int circle = evenNumberOf(hosts) - 1;
  const int alone = round * ((circle + 1) / 2) % circle;  // 2 × alone = round, modulo the odd number
  int partner = (round - host % circle + circle) % circle;
  if (host == circle) {
    partner = alone;
  } else if (host == alone) {
    partner = circle;
  }
  return partner < hosts ? partner : -1;
}

}  // namespace ringrun
