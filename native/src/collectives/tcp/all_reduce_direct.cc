#include <vector>

#include "collectives/tcp/agree.h"
#include "collectives/tcp/all_gather.h"
#include "collectives/tcp/all_reduce.h"
#include "collectives/tcp/terms.h"

namespace ringrun {
namespace {

// Everybody may get and reduce everything while what each receives stays in the cache, and this much of it, at most, is
// more than would have to travel.
constexpr std::size_t kEverythingBytes = 512 * 1024;
constexpr std::size_t kMoreThanNeededBytes = 48 * 1024;

// 1 step, (size − 1) × bytes sent by each rank.
void everythingToEverybody(Communicator& team, const Combination& combination, void* data, std::size_t count) {
  const std::size_t bytes = count * combination.elementBytes();
  std::uint8_t* const landings = team.landings(bytes * static_cast<std::size_t>(team.size()));
  std::vector<const void*> terms(static_cast<std::size_t>(team.size()), data);
  std::vector<Communicator::Send> sends;
  std::vector<Communicator::Receive> receives;
  for (int distance = 1; distance < team.size(); ++distance) {
    const int from = team.below(distance);
    std::uint8_t* const into = landings + static_cast<std::size_t>(from) * bytes;
    terms[static_cast<std::size_t>(from)] = into;
    sends.push_back({team.above(distance), data, bytes});
    receives.push_back({from, into, bytes});
  }
  team.transfer(sends, receives);
  combination.complete(terms, data, count);
}

// 1 step per segment, then size − 1 of the ring: 2(size − 1)/size × bytes sent by each rank.
void chunksToTheirOwners(Communicator& team, const Combination& combination, void* data, std::size_t count) {
  // An empty chunk is not sent, so no rank learns from it that its sender agrees.
  if (count < static_cast<std::size_t>(team.size())) agree(team);
  const Blocks chunks = evenParts(team, combination, data, count);
  auto* const own = static_cast<std::uint8_t*>(chunks[static_cast<std::size_t>(team.place())].data);
  Terms terms(team, combination, chunks);
  for (std::size_t s = 0; s < terms.segments(); ++s) {
    terms.exchange(s);
    terms.reduceInto(own + terms.segment(team.place(), s).begin * combination.elementBytes(), s);
  }
  Spans blocks;
  for (const Block& chunk : chunks) blocks.push_back(spanOf(chunk, combination.dtype));
  ringAllGather(team, blocks);
}

}  // namespace

void directAllReduce(Communicator& team, const Combination& combination, void* data, std::size_t count) {
  const auto size = static_cast<std::size_t>(team.size());
  const std::size_t received = (size - 1) * count * combination.elementBytes();
  const std::size_t needed = received / size * 2;
  if (received <= kEverythingBytes && received <= needed + kMoreThanNeededBytes) {
    return everythingToEverybody(team, combination, data, count);
  }
  chunksToTheirOwners(team, combination, data, count);
}

}  // namespace ringrun
