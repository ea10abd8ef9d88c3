#include "collectives/group.h"

#include <utility>

#include "collectives/create.h"
#include "transport/shm/shared_memory.h"

namespace ringrun {

Group::Listening Group::listen(const std::string& address) {
  Listening listening;
  token_ = randomToken();
  tcpListener_ = Listener::tcp(address);
  listening.sharedMemoryProblem = sharedMemoryProblem();
  if (listening.sharedMemoryProblem.empty()) {
    try {
      localListener_ = Listener::localSocket();
    } catch (const Failure& failure) {
      listening.sharedMemoryProblem = failure.detail;
    }
  }
  listening.socketName = localListener_.socketName;
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
                                               double timeoutMs) {
  Fingerprint fingerprint;
  fingerprint.op = Op::Connect;
  const Call call{fingerprint, Deadline::after(timeoutMs), cancelled_};
  try {
    connections_ = std::make_unique<Connections>(Directory(rank_, topology, endpoints), takeListeners(topology), call);
    collectives_ = createCollectives(*connections_, call);
  } catch (const Failure& failure) {
    if (connections_) connections_->abort(failure, fingerprint.sequence);
    failure_ = OperationFailure{failure, fingerprint, timeoutMs};
  } catch (const std::exception& error) {  // out of memory
    failure_ = OperationFailure{Failure(FailureCode::System, {}, error.what()), fingerprint, timeoutMs};
  }
  return failure_;
}

// Those that some rank will dial; the others are closed.
Acceptor Group::takeListeners(const Topology& topology) {
  std::vector<Listener> listeners;
  const bool hasNeighbours = topology.ranksOn(topology.hostOf(rank_)).size() > 1;
  if (hasNeighbours) listeners.push_back(std::move(localListener_));
  if (!topology.isOneHost()) listeners.push_back(std::move(tcpListener_));
  localListener_ = {};
  tcpListener_ = {};
  return {std::move(listeners), token_, size_};
}

void Group::fail(const Failure& failure, const Call& call) {
  failure_ = OperationFailure{failure, call.fingerprint, call.deadline.patienceMs()};
  connections_->abort(failure, call.fingerprint.sequence);
  collectives_->wakeNeighbours();
}

std::optional<OperationFailure> Group::destroy(const Fingerprint& fingerprint, double timeoutMs) {
  std::optional<OperationFailure> failure;
  if (collectives_ && !failure_) {
    failure = run(fingerprint, timeoutMs, [](Collectives& collectives, const Call& call) { collectives.barrier(call); });
    if (!failure) connections_->leave();
  }
  close();
  if (!failure_) failure_ = OperationFailure{Failure(FailureCode::Closed, {}, "the group was destroyed"), fingerprint, timeoutMs};
  return failure;
}

void Group::close() {
  collectives_.reset();
  connections_.reset();
  localListener_ = {};
  tcpListener_ = {};
}

}  // namespace ringrun
