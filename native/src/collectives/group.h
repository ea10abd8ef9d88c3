#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/failure.h"
#include "base/operation.h"
#include "base/wait_reports.h"
#include "collectives/algorithms.h"
#include "collectives/collectives.h"
#include "point_to_point/point_to_point.h"
#include "transport/connect/endpoint.h"
#include "transport/connect/listener.h"
#include "transport/connections.h"

namespace ringrun {

// One rank's end of a group: its life from listening to leaving, and the rule that after the first failure nothing
// runs any more.
//
// listen(), issue() and post() belong to the thread that owns the group. run(), connect() and destroy() may run on
// another, one at a time and in the order of issue(). runPointToPoint() runs on that other thread too, in turns with them
// (strands: base/progress_engine.h); so while isExchangingMessages(), nothing runs on the owner's. cancel() may be called by any
// thread at any time.
class Group {
 public:
  Group(int rank, int size) : rank_(rank), size_(size) {}

  struct Listening {
    std::string socketName;           // empty: this process cannot share memory
    std::string sharedMemoryProblem;  // why; empty when it can
    std::uint16_t port;
    Token token;
  };

  // Opens what the other ranks will connect to. `address` is the one that they are told. Throws Failure.
  Listening listen(const std::string& address);

  // Gives the operation its place in the order.
  Fingerprint issue(Op op, ReduceOp reduceOp, DType dtype, std::uint32_t root, std::uint64_t count);

  // The functions below return the failure instead of throwing it: it has to travel to another thread.

  // Meets the other ranks. `endpoints` has one for each rank. In a group of one, nothing is opened. `forced` is used by
  // every operation that has it, on all ranks the same.
  // Operations that wait for long are reported by `reports`.
  std::optional<OperationFailure> connect(const Topology& topology, const std::vector<Endpoint>& endpoints,
                                          std::optional<Algorithm> forced, const WaitReports& reports,
                                          double timeoutMs);

  // From now on the collectives of a connected group are those that `wrap` makes around them: it is given the present ones,
  // the connections and the call. A collective.
  using Wrap = std::function<std::unique_ptr<Collectives>(std::unique_ptr<Collectives>, Connections&, const Call&)>;
  std::optional<OperationFailure> wrapCollectives(const Wrap& wrap, double timeoutMs);

  // Runs an operation of a connected group; `operate` is given the collectives and the call.
  template <typename Operate>
  std::optional<OperationFailure> run(const Fingerprint& fingerprint, double timeoutMs, Operate operate) {
    if (failure_) return failure_;
    const Call call{fingerprint, Deadline::after(timeoutMs), cancelled_, reports_};
    const std::optional<Failure> failure = failureOf([&] { operate(*collectives_, call); });
    if (failure) {
      fail(*failure, fingerprint, timeoutMs);
    } else {
      connections_->mesh().operationEnded(call);
    }
    // Peers in the middle of a message wake up. Not in fail(), which may run while an operation uses them.
    if (failure_) connections_->messenger().closeAll();
    return failure_;
  }

  // The failure of an operation that was run, or nothing.
  const std::optional<OperationFailure>& failure() const { return failure_; }

  // Takes over a message to or from another rank of a connected group. True: runPointToPoint() has to be called.
  bool post(Message message) { return pointToPoint_->post(std::move(message)); }

  // Carries out messages until none is left.
  void runPointToPoint();

  bool isExchangingMessages() const { return pointToPoint_ && pointToPoint_->isBusy(); }

  // Waits for messages that are under way, and for allRanks to come here, says farewell and closes. Closes too when
  // that fails, and without waiting when the group was never connected or had failed before, which is then no failure
  // of this call.
  std::optional<OperationFailure> destroy(const Fingerprint& fingerprint, double timeoutMs);

  // Ends what is under way within kLivenessInterval, with FailureCode::Closed.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }

 private:
  Acceptor takeListeners(const Topology& topology);
  void fail(const Failure& failure, const Fingerprint& fingerprint, double timeoutMs);
  void failToConnect(const Failure& failure, const Fingerprint& fingerprint, double timeoutMs);
  void close();

  int rank_;
  int size_;
  Token token_{};
  Listener unixListener_;
  Listener tcpListener_;
  std::uint64_t issued_ = 0;
  WaitReports reports_;
  std::unique_ptr<Connections> connections_;
  std::unique_ptr<Collectives> collectives_;
  std::unique_ptr<PointToPoint> pointToPoint_;
  std::optional<OperationFailure> failure_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace ringrun
