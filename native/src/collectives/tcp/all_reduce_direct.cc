#include <vector>

#include "collectives/tcp/agree.h"
#include "collectives/tcp/all_gather.h"
#include "collectives/tcp/all_reduce.h"
#include "collectives/tcp/segmented_reduce_scatter.h"

namespace ringrun {
namespace {

// Limits for exchanging whole arrays: the received bytes must fit into the cache, and exceed the minimum of any
// algorithm by no more than the second.
constexpr std::size_t kMaxWholeArraysBytes = 512 * 1024;
constexpr std::size_t kMoreThanNeededBytes = 48 * 1024;

// 1 step, (size − 1) × bytes sent by each rank.
void exchangeWholeArrays(TeamOperation& team, const Combination& combination, void* data, std::size_t count) {
  const std::size_t bytes = count * combination.elementBytes();
  std::uint8_t* const receiveBuffer = team.receiveBuffer(bytes * static_cast<std::size_t>(team.size()));
  std::vector<const void*> terms(static_cast<std::size_t>(team.size()), data);
  std::vector<TeamOperation::Send> sends;
  std::vector<TeamOperation::Receive> receives;
  for (int distance = 1; distance < team.size(); ++distance) {
    const int from = team.below(distance);
    std::uint8_t* const into = receiveBuffer + static_cast<std::size_t>(from) * bytes;
    terms[static_cast<std::size_t>(from)] = into;
    sends.push_back({team.above(distance), data, bytes});
    receives.push_back({from, into, bytes});
  }
  team.transfer(sends, receives);
  combination.complete(terms, data, count);
}

// 1 step for each segment, then size − 1 steps of the ring. Each rank sends 2(size − 1)/size × bytes.
void exchangeChunks(TeamOperation& team, const Combination& combination, void* data, std::size_t count) {
  // Empty chunks are not sent, so the ranks must agree first.
  if (count < static_cast<std::size_t>(team.size())) agree(team);
  const Blocks chunks = evenParts(team, combination, data, count);
  auto* const own = static_cast<std::uint8_t*>(chunks[static_cast<std::size_t>(team.place())].data);
  SegmentedReduceScatter reduceScatter(team, combination, chunks, SegmentedReduceScatter::Order::AheadOnLongLinks);
  for (std::size_t s = 0; s < reduceScatter.segments(); ++s) {
    reduceScatter.exchange(s);
    reduceScatter.reduceInto(own + reduceScatter.segment(team.place(), s).begin * combination.elementBytes(), s);
  }
  Spans blocks;
  for (const Block& chunk : chunks) blocks.push_back(spanOf(chunk, combination.dtype));
  ringAllGather(team, blocks);
}

}  // namespace

void directAllReduce(TeamOperation& team, const Combination& combination, void* data, std::size_t count) {
  const auto size = static_cast<std::size_t>(team.size());
  const std::size_t received = (size - 1) * count * combination.elementBytes();
  const std::size_t needed = received / size * 2;
  if (received <= kMaxWholeArraysBytes && received <= needed + kMoreThanNeededBytes) {
    return exchangeWholeArrays(team, combination, data, count);
  }
  exchangeChunks(team, combination, data, count);
}

}  // namespace ringrun
