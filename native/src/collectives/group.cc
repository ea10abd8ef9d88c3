#include "collectives/group.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/wait.h"
#include "collectives/create.h"
#include "collectives/links/measure_links.h"
#include "transport/connect/dial.h"
#include "transport/shm/shared_memory.h"

namespace ringrun {
namespace {

// Interval at which destroy() checks for pending messages.
constexpr Milliseconds kDrainInterval{1};

}  // namespace

Group::Listening Group::listen(const std::string& address, const Key& key, bool encrypts) {
  authentication_.emplace(key, encrypts);
  Listening listening;
  token_ = randomToken();
  tcpListener_ = Listener::tcp(address);
  relayListener_ = Listener::tcp(address);
  listening.sharedMemoryProblem = sharedMemoryProblem();
  if (listening.sharedMemoryProblem.empty()) {
    try {
      unixListener_ = Listener::unixSocket();
    } catch (const Failure& failure) {
      listening.sharedMemoryProblem = failure.detail;
    }
  }
  listening.socketName = unixListener_.socketName;
  listening.port = tcpListener_.port;
  listening.relayPort = relayListener_.port;
  listening.token = token_;
  return listening;
}

std::optional<OperationFailure> Group::connect(const Topology& topology, const std::vector<Endpoint>& endpoints,
                                               std::optional<Algorithm> forced, const WaitReports& reports,
                                               double timeoutMs, Milliseconds silentPeerTimeout) {
  reports_ = reports;
  Fingerprint fingerprint;
  fingerprint.op = Op::Connect;
  const Call call{fingerprint, Deadline::after(timeoutMs), cancelled_, reports_};
  const std::optional<Failure> failure = failureOf([&] {
    if (!authentication_) authentication_.emplace(Key{}, false);  // a group of one
    Directory directory(rank_, topology, endpoints, *authentication_, silentPeerTimeout);
    std::optional<Acceptor> relayAcceptor = takeRelayListener(directory);
    connections_ = std::make_unique<Connections>(std::move(directory), takeListeners(topology, silentPeerTimeout), call,
                                                 std::move(relayAcceptor));
    collectives_ = createCollectives(*connections_, forced, call);
    pointToPoint_ = std::make_unique<PointToPoint>(*connections_, cancelled_, reports_);
    connections_->mesh().operationEnded(call);
  });
  if (failure) failToConnect(*failure, fingerprint, timeoutMs);
  return failure_;
}

std::optional<OperationFailure> Group::wrapCollectives(const Wrap& wrap, double timeoutMs) {
  if (failure_) return failure_;
  Fingerprint fingerprint;
  fingerprint.op = Op::Connect;
  const Call call{fingerprint, Deadline::after(timeoutMs), cancelled_, reports_};
  const std::optional<Failure> failure = failureOf([&] {
    collectives_ = wrap(std::move(collectives_), *connections_, call);
    connections_->mesh().operationEnded(call);
  });
  if (failure) failToConnect(*failure, fingerprint, timeoutMs);
  return failure_;
}

void Group::failToConnect(const Failure& failure, const Fingerprint& fingerprint, double timeoutMs) {
  const Failure whole = connections_ ? connections_->mesh().withAllGone(failure) : failure;
  if (connections_) connections_->mesh().abort(whole, fingerprint.sequence);
  failure_ = OperationFailure{whole, fingerprint, timeoutMs};
}

// Keeps the listeners to which other ranks connect and closes the others.
Acceptor Group::takeListeners(const Topology& topology, Milliseconds silentPeerTimeout) {
  std::vector<Listener> listeners;
  const bool hasLocalPeers = topology.ranksOn(topology.hostOf(rank_)).size() > 1;
  if (hasLocalPeers) listeners.push_back(std::move(unixListener_));
  if (!topology.isOneHost()) listeners.push_back(std::move(tcpListener_));
  unixListener_ = {};
  tcpListener_ = {};
  return {std::move(listeners), token_, *authentication_, rank_, size_, silentPeerTimeout};
}

std::optional<Acceptor> Group::takeRelayListener(const Directory& directory) {
  Listener listener = std::exchange(relayListener_, {});
  if (!directory.isBetweenOthers()) return std::nullopt;
  std::vector<Listener> listeners;
  listeners.push_back(std::move(listener));
  return Acceptor(std::move(listeners), token_, *authentication_, rank_, size_, directory.silentPeerTimeout(), true);
}

// The first failure ends all other operations, which fail with the same one.
void Group::fail(const Failure& failure, const Fingerprint& fingerprint, double timeoutMs) {
  if (failure_) return;
  ControlMesh& mesh = connections_->mesh();
  // A failed message has no position among the collectives: it ends any operation of the other ranks.
  const bool isMessage = fingerprint.op == Op::Send || fingerprint.op == Op::Receive;
  const bool hasMoreSides = failure.code == FailureCode::Mismatch && !isMessage;
  const Failure whole = hasMoreSides ? mesh.withAllSides(failure, fingerprint) : mesh.withAllGone(failure);
  if (failure_) return;  // another failure arrived while waiting for the other ranks
  failure_ = OperationFailure{whole, fingerprint, timeoutMs};
  cancel();
  mesh.abort(whole, isMessage ? 0 : fingerprint.sequence);
  collectives_->wakeLocalRanks();
  pointToPoint_->notify();
}

std::optional<OperationFailure> Group::measureLinks(const Fingerprint& fingerprint, double timeoutMs, double* table) {
  return run(fingerprint, timeoutMs, [&](Collectives& collectives, const Call& call) {
    ringrun::measureLinks(*connections_, collectives, call, table);
  });
}

std::optional<OperationFailure> Group::followRoutes(const Fingerprint& fingerprint, double timeoutMs, const Routes& routes,
                                                    const HostLinks& links) {
  return run(fingerprint, timeoutMs, [&](Collectives& collectives, const Call&) {
    collectives.follow(routes);
    connections_->directory().detours().setLinks(links);
  });
}

void Group::runPointToPoint() {
  const std::optional<OperationFailure> met = pointToPoint_->run();
  if (met) fail(met->failure, met->fingerprint, met->timeoutMs);
  if (failure_) pointToPoint_->end(*failure_);
}

std::optional<OperationFailure> Group::destroy(const Fingerprint& fingerprint, double timeoutMs) {
  std::optional<OperationFailure> failure;
  if (collectives_ && !failure_) {
    failure = run(fingerprint, timeoutMs, [this](Collectives& collectives, const Call& call) {
      collectives.barrier(call);
      settleMessages(collectives, call);
    });
    if (!failure) connections_->mesh().leave();
  }
  while (isExchangingMessages()) pollSockets(nullptr, 0, kDrainInterval);
  close();
  if (!failure_) {
    const Failure closed(FailureCode::Closed, {}, "the group was destroyed");
    failure_ = OperationFailure{closed, fingerprint, timeoutMs};
  }
  return failure;
}

// After a barrier, no rank posts messages any more. All ranks publish how many messages they have sent to each rank.
// When a rank has seen that many, its unmatched receives will never get a message. When all ranks have reached this point,
// unmatched sends will never get a receive.
void Group::settleMessages(Collectives& collectives, const Call& call) {
  const auto combine = [&](std::vector<std::uint64_t>& values) {
    Call part = call;
    part.fingerprint.reduceOp = ReduceOp::Bor;  // on CPUs, even in a group of the backend nccl
    part.fingerprint.dtype = DType::UInt64;
    part.fingerprint.count = values.size();
    collectives.allReduce(part, values.data());
  };
  const auto drainUntil = [&](auto isDone) {
    while (!isDone()) {
      if (failure_) throw Failure(failure_->failure);
      throwIfTimedOutOrCancelled(call, rank_, "messages that were sent before destroy have not arrived");
      pollSockets(nullptr, 0, kDrainInterval);
    }
  };
  std::vector<std::uint64_t> pending{isExchangingMessages() ? std::uint64_t{1} : 0};
  combine(pending);
  if (pending.front() == 0) return;

  drainUntil([&] { return !pointToPoint_->hasUnseenPosts(); });
  const auto size = static_cast<std::size_t>(size_);
  const auto own = static_cast<std::size_t>(rank_);
  const std::vector<std::uint64_t> sentTo = pointToPoint_->sentToEach();
  std::vector<std::uint64_t> sent(size * size);
  std::copy(sentTo.begin(), sentTo.end(), sent.begin() + static_cast<std::ptrdiff_t>(own * size));
  combine(sent);
  std::vector<std::uint64_t> sentFrom(size);
  for (std::size_t rank = 0; rank < size; ++rank) sentFrom[rank] = sent[rank * size + own];

  drainUntil([&] { return !isExchangingMessages() || pointToPoint_->hasReceived(sentFrom); });
  pointToPoint_->endReceives(Failure(FailureCode::Closed, {}, "no rank sent this message before all ranks destroyed the group"));
  combine(pending);
  pointToPoint_->endSends(Failure(FailureCode::Closed, {}, "it was not received before all ranks destroyed the group"));
  pointToPoint_->notify();
  combine(pending);  // a rank that leaves before would look like a dead one
}

void Group::close() {
  pointToPoint_.reset();
  collectives_.reset();
  connections_.reset();
  unixListener_ = {};
  tcpListener_ = {};
}

}  // namespace ringrun
