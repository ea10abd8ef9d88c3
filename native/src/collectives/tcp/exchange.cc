#include "collectives/tcp/exchange.h"

#include <algorithm>
#include <vector>

namespace ringrun {
namespace {

// More concurrent messages fill the kernel's buffers without being faster.
constexpr int kAtOnce = 8;

// Sends to the ranks `first` … `last` places above and receives from those as far below. Sender and receiver
// are at the same distance, so both have their message in the same round.
void exchangeAtDistances(TeamOperation& team, int first, int last, const Spans& toSend, const Spans& toReceive) {
  std::vector<TeamOperation::Send> sends;
  std::vector<TeamOperation::Receive> receives;
  for (int distance = first; distance <= last; ++distance) {
    const int to = team.above(distance);
    const int from = team.below(distance);
    const Span& outgoing = toSend[static_cast<std::size_t>(to)];
    const Span& incoming = toReceive[static_cast<std::size_t>(from)];
    if (outgoing.bytes > 0) sends.push_back({to, outgoing.data, outgoing.bytes, true});
    if (incoming.bytes > 0) receives.push_back({from, incoming.data, incoming.bytes});
  }
  team.transfer(sends, receives);
}

void exchangeInRounds(TeamOperation& team, int distancesPerRound, const Spans& toSend, const Spans& toReceive) {
  for (int first = 1; first < team.size(); first += distancesPerRound) {
    const int last = std::min(first + distancesPerRound, team.size()) - 1;
    exchangeAtDistances(team, first, last, toSend, toReceive);
  }
}

}  // namespace

// size − 1 steps: every rank sends to one rank and receives from one.
//
//   4 ranks    0 sends to   1        2        3
//   step 0     1            2        3        0
//   step 1     2            3        0        1
//   step 2     3            0        1        2
void pairwiseExchange(TeamOperation& team, const Spans& toSend, const Spans& toReceive) {
  exchangeInRounds(team, 1, toSend, toReceive);
}

// ⌈(size − 1)/8⌉ steps.
void directExchange(TeamOperation& team, const Spans& toSend, const Spans& toReceive) {
  exchangeInRounds(team, kAtOnce, toSend, toReceive);
}

}  // namespace ringrun
