#include "collectives/tcp/team_operation.h"

#include "collectives/routes.h"

namespace ringrun {

TeamOperation::TeamOperation(Messenger& messenger, const Call& call, const Team& team, Scratch& scratch)
    : messenger_(messenger),
      call_(call),
      team_(team),
      scratch_(scratch),
      place_(placeIn(team, messenger.rank())),
      sent_(team.size()),
      received_(team.size()) {}

void TeamOperation::transfer(const std::vector<Send>& sends, const std::vector<Receive>& receives, std::size_t mostAhead,
                             const WorkMeanwhile& meanwhile) {
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
  outgoing.reserve(sends.size());
  incoming.reserve(receives.size());
  for (const auto& [to, data, bytes, isLent] : sends) {
    const auto place = static_cast<std::size_t>(to);
    outgoing.push_back({team_[place], sent_[place]++, data, bytes, isLent});
  }
  for (const auto& [from, into, bytes, headerFirst] : receives) {
    const auto place = static_cast<std::size_t>(from);
    incoming.push_back({team_[place], received_[place]++, into, bytes, headerFirst});
  }
  messenger_.transfer(call_, outgoing, incoming, mostAhead, meanwhile);
}

}  // namespace ringrun
