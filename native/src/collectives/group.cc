#include "collectives/group.h"

#include <utility>

#include "collectives/shm/shm_collectives.h"
#include "collectives/tcp/tcp_collectives.h"
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

std::optional<OperationFailure> Group::connect(Carrier carrier, const std::vector<Endpoint>& endpoints, double timeoutMs) {
  Fingerprint fingerprint;
  fingerprint.op = Op::Connect;
  const Call call{fingerprint, Deadline::after(timeoutMs), cancelled_};
  try {
    if (carrier == Carrier::Tcp) {
      localListener_ = {};
      collectives_ = std::make_unique<TcpCollectives>(rank_, size_, endpoints,
                                                      Acceptor(std::move(tcpListener_), token_, size_), call);
    } else {
      tcpListener_ = {};
      collectives_ = std::make_unique<ShmCollectives>(rank_, size_, endpoints,
                                                      Acceptor(std::move(localListener_), token_, size_), call);
    }
  } catch (const Failure& failure) {
    failure_ = OperationFailure{failure, fingerprint, timeoutMs};
  } catch (const std::exception& error) {  // out of memory
    failure_ = OperationFailure{Failure(FailureCode::System, {}, error.what()), fingerprint, timeoutMs};
  }
  return failure_;
}

void Group::fail(const Failure& failure, const Call& call) {
  failure_ = OperationFailure{failure, call.fingerprint, call.deadline.patienceMs()};
  collectives_->abort(failure, call);
}

std::optional<OperationFailure> Group::destroy(const Fingerprint& fingerprint, double timeoutMs) {
  std::optional<OperationFailure> failure;
  if (collectives_ && !failure_) {
    failure = run(fingerprint, timeoutMs, [](Collectives& collectives, const Call& call) { collectives.barrier(call); });
    if (!failure) collectives_->leave();
  }
  collectives_.reset();
  localListener_ = {};
  tcpListener_ = {};
  if (!failure_) failure_ = OperationFailure{Failure(FailureCode::Closed, {}, "the group was destroyed"), fingerprint, timeoutMs};
  return failure;
}

}  // namespace ringrun
