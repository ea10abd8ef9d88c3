#include "collectives/hierarchical/hierarchical_collectives.h"

#include <algorithm>
#include <cstring>

#include "collectives/lengths.h"
#include "collectives/tcp/agree.h"
#include "collectives/tcp/all_reduce.h"
#include "collectives/tcp/all_reduce_quantized.h"
#include "collectives/tcp/broadcast.h"
#include "reduce/widen.h"

namespace ringrun {
namespace {

// Up to this size one connection for each host suffices, and fewer messages are faster.
constexpr std::size_t kOneOwnerBytes = 64 * 1024;

void narrowRange(DType dtype, const void* from, void* to, const Range& range) {
  auto* const narrowed = static_cast<std::uint8_t*>(to) + range.begin * bytesPerElement(dtype);
  narrow(dtype, static_cast<const float*>(from) + range.begin, narrowed, range.length());
}

}  // namespace

HierarchicalCollectives::HierarchicalCollectives(Connections& connections, std::optional<Algorithm> forced, const Call& call)
    : topology_(connections.topology()),
      messenger_(connections.messenger()),
      forced_(forced),
      rank_(connections.rank()),
      place_(topology_.localRank(rank_)),
      host_(connections, call),
      allRanks_(connections, forced) {}

void HierarchicalCollectives::wakeLocalRanks() noexcept { host_.wakeLocalRanks(); }

bool HierarchicalCollectives::ignoresHosts(Op op) const {
  return forced_ && *forced_ != Algorithm::Hierarchical && hasAlgorithm(op, Medium::Tcp, *forced_);
}

void HierarchicalCollectives::follow(const Routes& routes) {
  routes_ = routes;
  allRanks_.follow(routes);
}

// `bytesOfHost`: of all teams that share the links of a host; `bytes`: of one.
Algorithm HierarchicalCollectives::choose(Op op, DType dtype, std::uint64_t bytes, std::uint64_t bytesOfHost) const {
  if (const auto forRoutes = routes_.algorithmFor(op, dtype, bytesOfHost)) return *forRoutes;
  return chooseAlgorithm({op, Medium::Tcp, dtype, bytes, topology_.hosts()}, std::nullopt);
}

// The number of shares: the number of ranks on the smallest host.
Shares HierarchicalCollectives::sharesOf(DType dtype, std::size_t count) const {
  const bool isSmall = count * bytesPerElement(dtype) <= kOneOwnerBytes;
  return {isSmall ? 1 : topology_.minRanksOnHost(), dtype, count};
}

Team HierarchicalCollectives::teamAt(int place) const {
  Team team;
  for (const int host : hostsInOrder(topology_, routes_)) {
    team.push_back(topology_.ranksOn(host)[static_cast<std::size_t>(place)]);
  }
  return team;
}

// One leader for each host; the root leads its own.
Team HierarchicalCollectives::leadersFor(int root) const {
  Team leaders = teamAt(0);
  const int usual = topology_.ranksOn(topology_.hostOf(root)).front();
  leaders[static_cast<std::size_t>(placeIn(leaders, usual))] = root;
  return leaders;
}

void HierarchicalCollectives::allReduce(const Call& call, void* data) {
  if (ignoresHosts(Op::AllReduce)) return allRanks_.allReduce(call, data);
  combine(call, data, static_cast<std::size_t>(call.fingerprint.count));
}

// Each rank rounds the sum of its host's terms of its share, and keeps that share's error.
void HierarchicalCollectives::allReduceQuantized(const Call& call, const QuantizedReduction& reduction) {
  if (ignoresHosts(Op::AllReduceQuantized)) return allRanks_.allReduceQuantized(call, reduction);
  const std::size_t divisor = divisorOf(call.fingerprint.reduceOp, static_cast<std::size_t>(topology_.size()));
  combine(call, reduction.data, reduction.count, [&](TeamOperation& team, void* partial, const Range& share, const OverlapCallbacks& inHost) {
    float* const error = reduction.error == nullptr ? nullptr : reduction.error + share.begin;
    ringrun::allReduceQuantized(team, {static_cast<float*>(partial), error, share.length(), reduction.bits}, divisor, inHost);
  });
}

void HierarchicalCollectives::combine(const Call& call, void* data, std::size_t count) {
  const Fingerprint& fingerprint = call.fingerprint;
  const DType dtype = partialDType(fingerprint.dtype);
  const Combination combination{dtype, fingerprint.reduceOp, divisorOf(fingerprint.reduceOp, static_cast<std::size_t>(topology_.size()))};
  combine(call, data, count, [&](TeamOperation& team, void* partial, const Range& share, const OverlapCallbacks& inHost) {
    const std::size_t bytes = bytesPerElement(dtype);
    const Algorithm algorithm = choose(Op::AllReduce, dtype, share.length() * bytes, count * bytes);
    ringrun::allReduce(team, algorithm, combination, partial, share.length(), inHost);
  });
}

// When a rank has combined a range of its share across hosts, all ranks agree: the ranks of its host had
// arrived, and so had those of every rank in its team. While a range is sent between hosts, the next one is
// reduced inside the host, and the previous one is written to its arrays.
void HierarchicalCollectives::combine(const Call& call, void* data, std::size_t count, const AcrossHosts& acrossHosts) {
  const Shares shares = sharesOf(call.fingerprint.dtype, count);
  const Range share = shares.of(place_);
  const std::size_t length = share.length();
  const bool isNarrow = partialDType(shares.dtype) != shares.dtype;
  void* const partial = partial_.of(length * bytesPerElement(partialDType(shares.dtype)));
  void* const complete = isNarrow ? narrowed_.of(length * bytesPerElement(shares.dtype)) : partial;
  OverlapCallbacks inHost;
  inHost.beforeUse = [&](const Range& range) { host_.reduceInShare(call, shares, range, partial); };
  inHost.whenComplete = [&](const Range& range) {
    if (isNarrow) narrowRange(shares.dtype, partial, complete, range);
    host_.spreadFromShare(shares, range, complete);
  };
  host_.beginShares(call, shares, data, partial);
  if (place_ < shares.owners) {
    const Team team = teamAt(place_);
    TeamOperation across(messenger_, call, team, scratch_);
    acrossHosts(across, partial, share, inHost);
  }
  host_.endShares(call, shares, complete, data);
}

void HierarchicalCollectives::reduce(const Call& call, void* data) {
  if (ignoresHosts(call.fingerprint.op)) return allRanks_.reduce(call, data);
  const std::size_t bytes = call.fingerprint.bytes();
  void* const copy = copy_.of(bytes);
  std::memcpy(copy, data, bytes);
  combine(call, copy, static_cast<std::size_t>(call.fingerprint.count));
  if (rank_ == static_cast<int>(call.fingerprint.root)) std::memcpy(data, copy, bytes);
}

void HierarchicalCollectives::reduceScatter(const Call& call, const Blocks& inputs, const Block& output) {
  if (ignoresHosts(call.fingerprint.op)) return allRanks_.reduceScatter(call, inputs, output);
  const Team all = topology_.allRanks();
  TeamOperation team(messenger_, call, all, scratch_);
  checkReduceScatter(call.fingerprint, team.size(), agreeOnRows(team, rowOf(inputs, rank_, output)));

  const std::size_t elementBytes = bytesPerElement(call.fingerprint.dtype);
  std::uint64_t count = 0;
  for (const Block& input : inputs) count += input.count;
  std::uint8_t* const copy = copy_.of(static_cast<std::size_t>(count) * elementBytes);
  std::uint8_t* mine = copy;
  std::uint8_t* end = copy;
  for (std::size_t rank = 0; rank < inputs.size(); ++rank) {
    if (static_cast<int>(rank) == rank_) mine = end;
    const std::size_t bytes = static_cast<std::size_t>(inputs[rank].count) * elementBytes;
    if (bytes > 0) std::memcpy(end, inputs[rank].data, bytes);
    end += bytes;
  }
  combine(call, copy, static_cast<std::size_t>(count));
  if (output.count > 0) std::memcpy(output.data, mine, static_cast<std::size_t>(output.count) * elementBytes);
}

void HierarchicalCollectives::broadcast(const Call& call, void* data) {
  if (ignoresHosts(call.fingerprint.op)) return allRanks_.broadcast(call, data);
  barrier(call);
  const Fingerprint& fingerprint = call.fingerprint;
  const int root = static_cast<int>(fingerprint.root);
  const Team leaders = leadersFor(root);
  const int leader = topology_.shareMemory(rank_, root) ? root : topology_.ranksOn(topology_.hostOf(rank_)).front();
  if (rank_ == leader) {
    TeamOperation across(messenger_, call, leaders, scratch_);
    const Algorithm algorithm = choose(Op::Broadcast, fingerprint.dtype, fingerprint.bytes(), fingerprint.bytes());
    ringrun::broadcast(across, algorithm, placeIn(leaders, root), {static_cast<std::uint8_t*>(data), fingerprint.bytes()});
  }
  host_.broadcastFrom(topology_.localRank(leader), call, data);
}

void HierarchicalCollectives::exchange(const Call& call, const Exchange& exchange) { allRanks_.exchange(call, exchange); }

// The leaders agree for their hosts; the second barrier passes the result to the other ranks.
void HierarchicalCollectives::barrier(const Call& call) {
  host_.barrier(call);
  if (place_ == 0) {
    const Team leaders = teamAt(0);
    TeamOperation across(messenger_, call, leaders, scratch_);
    agree(across);
  }
  host_.barrier(call);
}

Allocation HierarchicalCollectives::allocate(const Call& call) {
  barrier(call);
  return host_.allocate(call);
}

HostAllocation HierarchicalCollectives::allocateForHost(const Call& call) {
  barrier(call);
  return host_.allocateForHost(call);
}

}  // namespace ringrun
