#include "collectives/group.h"

#include <utility>

#include "base/wait.h"
#include "collectives/create.h"
#include "transport/shm/shared_memory.h"

namespace ringrun {
namespace {

// Interval at which destroy() checks for pending messages.
constexpr Milliseconds kDrainInterval{1};

}  // namespace

Group::Listening Group::listen(const std::string& address) {
  Listening listening;
  token_ = randomToken();
  tcpListener_ = Listener::tcp(address);
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
  listening.token = token_;
  return listening;
}

Fingerprint Group::issue(Op op, ReduceOp reduceOp, DType dtype, std::uint32_t root, std::uint64_t count) {
  Fingerprint fingerprint;
  fingerprint.sequence = ++issued_;
  fingerprint.op = op;
  fingerprint.reduceOp = reduceOp;
  fingerprint.dtype = dtype;
  fingerprint.root = root;
  fingerprint.count = count;
  return fingerprint;
}

std::optional<OperationFailure> Group::connect(const Topology& topology, const std::vector<Endpoint>& endpoints,
                                               std::optional<Algorithm> forced, const WaitReports& reports,
                                               double timeoutMs) {
  reports_ = reports;
  Fingerprint fingerprint;
  fingerprint.op = Op::Connect;
  const Call call{fingerprint, Deadline::after(timeoutMs), cancelled_, reports_};
  const std::optional<Failure> failure = failureOf([&] {
    connections_ = std::make_unique<Connections>(Directory(rank_, topology, endpoints), takeListeners(topology), call);
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
  if (connections_) connections_->mesh().abort(failure, fingerprint.sequence);
  failure_ = OperationFailure{failure, fingerprint, timeoutMs};
}

// Keeps the listeners to which other ranks connect and closes the others.
Acceptor Group::takeListeners(const Topology& topology) {
  std::vector<Listener> listeners;
  const bool hasLocalPeers = topology.ranksOn(topology.hostOf(rank_)).size() > 1;
  if (hasLocalPeers) listeners.push_back(std::move(unixListener_));
  if (!topology.isOneHost()) listeners.push_back(std::move(tcpListener_));
  unixListener_ = {};
  tcpListener_ = {};
  return {std::move(listeners), token_, size_};
}

// The first failure ends all other operations, which fail with the same one.
void Group::fail(const Failure& failure, const Fingerprint& fingerprint, double timeoutMs) {
  if (failure_) return;
  ControlMesh& mesh = connections_->mesh();
  // A message has no position among the collectives: it ends any operation of the other ranks.
  const bool isMessage = fingerprint.op == Op::Send || fingerprint.op == Op::Receive;
  const bool hasMoreSides = failure.code == FailureCode::Mismatch && !isMessage;
  const Failure whole = hasMoreSides ? mesh.withAllSides(failure, fingerprint) : failure;
  if (failure_) return;  // another failure arrived while waiting for the other ranks
  failure_ = OperationFailure{whole, fingerprint, timeoutMs};
  cancel();
  mesh.abort(whole, isMessage ? 0 : fingerprint.sequence);
  collectives_->wakeLocalRanks();
  pointToPoint_->notify();
}

void Group::runPointToPoint() {
  const std::optional<Failure> failure = failureOf([&] { pointToPoint_->run(); });
  if (failure) fail(*failure, pointToPoint_->failedMessage(), pointToPoint_->failedTimeoutMs());
  if (failure_) pointToPoint_->end(*failure_);
}

std::optional<OperationFailure> Group::destroy(const Fingerprint& fingerprint, double timeoutMs) {
  std::optional<OperationFailure> failure;
  while (isExchangingMessages()) pollSockets(nullptr, 0, kDrainInterval);
  if (collectives_ && !failure_) {
    failure = run(fingerprint, timeoutMs, [](Collectives& collectives, const Call& call) { collectives.barrier(call); });
    if (!failure) connections_->mesh().leave();
  }
  close();
  if (!failure_) {
    const Failure closed(FailureCode::Closed, {}, "the group was destroyed");
    failure_ = OperationFailure{closed, fingerprint, timeoutMs};
  }
  return failure;
}

void Group::close() {
  pointToPoint_.reset();
  collectives_.reset();
  connections_.reset();
  unixListener_ = {};
  tcpListener_ = {};
}

}  // namespace ringrun
