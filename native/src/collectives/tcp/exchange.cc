#include "collectives/tcp/exchange.h"

#include <algorithm>
#include <vector>

namespace ringrun {
namespace {

// More messages than these at once fill the kernel's buffers, and speed up nothing.
constexpr int kAtOnce = 8;

// To the ranks first … last places above, while those as far below send. Sender and receiver see each other at the same
// distance, so both have their message in the same round.
void exchangeAtDistances(Communicator& team, int first, int last, const Spans& gives, const Spans& takes) {
  std::vector<Communicator::Send> sends;
  std::vector<Communicator::Receive> receives;
  for (int distance = first; distance <= last; ++distance) {
    const int to = team.above(distance);
    const int from = team.below(distance);
    const Span& given = gives[static_cast<std::size_t>(to)];
    const Span& taken = takes[static_cast<std::size_t>(from)];
    if (given.bytes > 0) sends.push_back({to, given.data, given.bytes});
    if (taken.bytes > 0) receives.push_back({from, taken.data, taken.bytes});
  }
  team.transfer(sends, receives);
}

void exchangeInRounds(Communicator& team, int distancesPerRound, const Spans& gives, const Spans& takes) {
  for (int first = 1; first < team.size(); first += distancesPerRound) {
    const int last = std::min(first + distancesPerRound, team.size()) - 1;
    exchangeAtDistances(team, first, last, gives, takes);
  }
}

}  // namespace

// size − 1 steps, in each of which every rank sends to one and receives from one.
//
//   4 ranks    0 sends to   1        2        3
//   step 0     1            2        3        0
//   step 1     2            3        0        1
//   step 2     3            0        1        2
void pairwiseExchange(Communicator& team, const Spans& gives, const Spans& takes) {
  exchangeInRounds(team, 1, gives, takes);
}

// ⌈(size − 1)/8⌉ steps.
void directExchange(Communicator& team, const Spans& gives, const Spans& takes) {
  exchangeInRounds(team, kAtOnce, gives, takes);
}

}  // namespace ringrun
