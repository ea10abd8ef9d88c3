#include "collectives/tcp/tcp_collectives.h"

#include <algorithm>
#include <cstring>

#include "base/mapping.h"
#include "collectives/lengths.h"
#include "collectives/tcp/agree.h"
#include "collectives/tcp/all_gather.h"
#include "collectives/tcp/all_reduce.h"
#include "collectives/tcp/all_reduce_quantized.h"
#include "collectives/tcp/broadcast.h"
#include "collectives/tcp/exchange.h"
#include "collectives/tcp/reduce.h"
#include "collectives/tcp/reduce_scatter.h"

namespace ringrun {
namespace {

Combination combinationOf(const Fingerprint& fingerprint, int ranks) {
  return {fingerprint.dtype, fingerprint.reduceOp, divisorOf(fingerprint.reduceOp, static_cast<std::size_t>(ranks))};
}

Spans spansOf(const Blocks& blocks, DType dtype) {
  Spans spans;
  for (const Block& block : blocks) spans.push_back(spanOf(block, dtype));
  return spans;
}

// The largest number of elements that any rank receives: equal on all ranks.
std::uint64_t maxReceived(const Counts& counts, int size) {
  std::uint64_t most = 0;
  for (int by = 0; by < size; ++by) {
    std::uint64_t received = 0;
    for (int from = 0; from < size; ++from) received += counts.received(by, from);
    most = std::max(most, received);
  }
  return most;
}

// Other operations that exchange data, such as an agreement on lengths, send one block to all ranks.
Op movementOf(Op op) {
  const bool isMovement = op == Op::AllGather || op == Op::Gather || op == Op::Scatter || op == Op::AllToAll;
  return isMovement ? op : Op::AllGather;
}

// The two may be the same memory.
void move(const Span& from, const Span& to) {
  if (from.bytes > 0) std::memmove(to.data, from.data, from.bytes);
}

}  // namespace

TcpCollectives::TcpCollectives(Connections& connections, std::optional<Algorithm> forced)
    : messenger_(connections.messenger()),
      medium_(connections.directory().isOneMachine() ? Medium::Loopback : Medium::Tcp),
      topology_(connections.topology()),
      allRanks_(topology_.allRanks()),
      ring_(allRanks_),
      forced_(forced) {}

Algorithm TcpCollectives::choose(Op op, DType dtype, std::uint64_t bytes) const {
  const AlgorithmInput input{op, medium_, dtype, bytes, size()};
  const bool isForced = forced_ && hasAlgorithm(op, medium_, *forced_);
  const std::optional<Algorithm> forRoutes = routes_.algorithmFor(op, dtype, bytes);
  return forRoutes && !isForced ? *forRoutes : chooseAlgorithm(input, forced_);
}

void TcpCollectives::follow(const Routes& routes) {
  routes_ = routes;
  ring_ = ranksInOrder(topology_, routes);
}

void TcpCollectives::allReduce(const Call& call, void* data) {
  const Fingerprint& fingerprint = call.fingerprint;
  TeamOperation team = ringIn(call);
  const Algorithm algorithm = choose(Op::AllReduce, fingerprint.dtype, fingerprint.bytes());
  ringrun::allReduce(team, algorithm, combinationOf(fingerprint, team.size()), data, static_cast<std::size_t>(fingerprint.count));
}

void TcpCollectives::allReduceQuantized(const Call& call, const QuantizedReduction& reduction) {
  TeamOperation team = allRanksIn(call);
  const std::size_t divisor = divisorOf(call.fingerprint.reduceOp, static_cast<std::size_t>(team.size()));
  ringrun::allReduceQuantized(team, reduction, divisor);
}

void TcpCollectives::reduce(const Call& call, void* data) {
  const Fingerprint& fingerprint = call.fingerprint;
  TeamOperation team = ringIn(call);
  agree(team);
  const int root = placeIn(ring_, static_cast<int>(fingerprint.root));
  reduceTo(team, choose(Op::Reduce, fingerprint.dtype, fingerprint.bytes()), root,
           combinationOf(fingerprint, team.size()), data, static_cast<std::size_t>(fingerprint.count));
}

void TcpCollectives::reduceScatter(const Call& call, const Blocks& inputs, const Block& output) {
  TeamOperation team = allRanksIn(call);
  const Counts counts = agreeOnRows(team, rowOf(inputs, team.place(), output));
  checkReduceScatter(call.fingerprint, team.size(), counts);
  directReduceScatter(team, combinationOf(call.fingerprint, team.size()), inputs, output);
}

void TcpCollectives::broadcast(const Call& call, void* data) {
  const Fingerprint& fingerprint = call.fingerprint;
  TeamOperation team = ringIn(call);
  const Algorithm algorithm = choose(Op::Broadcast, fingerprint.dtype, fingerprint.bytes());
  ringrun::broadcast(team, algorithm, placeIn(ring_, static_cast<int>(fingerprint.root)),
                     {static_cast<std::uint8_t*>(data), fingerprint.bytes()});
}

void TcpCollectives::exchange(const Call& call, const Exchange& exchange) {
  const DType dtype = call.fingerprint.dtype;
  TeamOperation team = allRanksIn(call);
  const Counts counts = agreeOnRows(team, rowOf(exchange));
  checkExchange(call.fingerprint, team.size(), counts);

  const Spans sends = spansOf(exchange.sends, dtype);
  const Spans receives = spansOf(exchange.receives, dtype);
  const auto own = static_cast<std::size_t>(team.place());
  move(sends[own], receives[own]);
  switch (choose(movementOf(call.fingerprint.op), dtype, maxReceived(counts, team.size()) * bytesPerElement(dtype))) {
    case Algorithm::Ring: return gatherInRing(team, call, receives);
    case Algorithm::Bruck: return bruckAllGather(team, receives);
    case Algorithm::Pairwise: return pairwiseExchange(team, sends, receives);
    default: return directExchange(team, sends, receives);
  }
}

// `team` has numbered the messages of this operation so far; another order counts its own.
void TcpCollectives::gatherInRing(TeamOperation& team, const Call& call, const Spans& byRank) {
  if (ring_ == allRanks_) return ringAllGather(team, byRank);
  TeamOperation ring = ringIn(call);
  Spans inOrder;
  for (const int rank : ring_) inOrder.push_back(byRank[static_cast<std::size_t>(rank)]);
  ringAllGather(ring, inOrder);
}

void TcpCollectives::barrier(const Call& call) {
  TeamOperation team = allRanksIn(call);
  agree(team);
}

// Memory of a TCP group is ordinary memory; the ranks still agree on the operation.
Allocation TcpCollectives::allocate(const Call& call) {
  barrier(call);
  auto memory = std::make_shared<const Mapping>(Mapping::anonymous(std::max<std::size_t>(call.fingerprint.bytes(), 1)));
  return {memory->data(), memory};
}

}  // namespace ringrun
