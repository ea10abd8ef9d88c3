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
#include "transport/connect/authentication.h"
#include "transport/connect/endpoint.h"
#include "transport/connect/listener.h"
#include "transport/connections.h"

namespace ringrun {

// One rank's side of a group, from listening to leaving. After the first failure no operation runs.
//
// listen() and post() belong to the owning thread. run(), connect() and destroy() may run on another thread, one at a
// time. runPointToPoint() runs on that other thread too, on its own fiber (base/progress_engine.h); so while
// isExchangingMessages(), the owning thread must not run anything. cancel() may be called by any thread at any time.
class Group {
 public:
  Group(int rank, int size) : rank_(rank), size_(size) {}

  int size() const { return size_; }

  struct Listening {
    std::string socketName;           // empty if this process cannot share memory
    std::string sharedMemoryProblem;  // the reason; empty if it can
    std::uint16_t port;
    std::uint16_t relayPort;
    Token token;
  };

  // Opens the sockets to which the other ranks connect. `address`: numeric address of this host. `key`: equal on all
  // ranks; connections with another key are refused. `encrypts`: TCP connections are encrypted. Throws Failure.
  Listening listen(const std::string& address, const Key& key, bool encrypts);

  // The operation with the next sequence number. Called when its turn comes, by the thread that runs it.
  Fingerprint numbered(Fingerprint operation) {
    operation.sequence = ++operations_;
    return operation;
  }

  // The functions below return the failure instead of throwing it, because another thread handles it.

  // Connects to the other ranks. `endpoints`: one for each rank. A group of one opens no socket. `forced`: used
  // by every operation that supports it; equal on all ranks. `reports`: receives reports of long waits.
  // `silentPeerTimeout`: see Directory.
  std::optional<OperationFailure> connect(const Topology& topology, const std::vector<Endpoint>& endpoints,
                                          std::optional<Algorithm> forced, const WaitReports& reports,
                                          double timeoutMs, Milliseconds silentPeerTimeout);

  // Replaces the collectives of a connected group by those that `wrap` creates from the current ones, the
  // connections and the call. A collective.
  using Wrap = std::function<std::unique_ptr<Collectives>(std::unique_ptr<Collectives>, Connections&, const Call&)>;
  std::optional<OperationFailure> wrapCollectives(const Wrap& wrap, double timeoutMs);

  // Runs an operation of a connected group: calls `operate` with the collectives and the call.
  template <typename Operate>
  std::optional<OperationFailure> run(const Fingerprint& fingerprint, double timeoutMs, Operate operate) {
    if (failure_) return failure_;
    const Deadline deadline = Deadline::afterFirstLook(timeoutMs);
    const Call call{fingerprint, deadline, cancelled_, reports_};
    const std::optional<Failure> failure = failureOf([&] { operate(*collectives_, call); });
    if (failure) {
      fail(*failure, fingerprint, timeoutMs);
    } else {
      connections_->mesh().operationEnded(call);
    }
    // Wakes peers in the middle of a message. Not in fail(), which may run while an operation uses the connections.
    if (failure_) connections_->messenger().closeAll();
    return failure_;
  }

  // Number of hosts of a connected group.
  int hosts() const { return connections_->topology().hosts(); }

  // ringrun::measureLinks. `table`: 3 × hosts() × hosts() numbers.
  std::optional<OperationFailure> measureLinks(const Fingerprint& fingerprint, double timeoutMs, double* table);

  // Operations follow the routes, and connections that need a relay the links. See process-group.ts.
  std::optional<OperationFailure> followRoutes(const Fingerprint& fingerprint, double timeoutMs, const Routes& routes,
                                               const HostLinks& links);

  // The first failure, if any.
  const std::optional<OperationFailure>& failure() const { return failure_; }

  // Posts a message to or from another rank of a connected group. Returns true if runPointToPoint() must be
  // called.
  bool post(Message message) { return pointToPoint_->post(std::move(message)); }

  // Runs until no message is pending.
  void runPointToPoint();

  bool isExchangingMessages() const { return pointToPoint_ && pointToPoint_->isBusy(); }

  // Waits for all ranks to call it and for pending messages, then sends LEAVE and closes everything. Fails the receives
  // for which no rank has sent a message, and the sends that no rank receives. Closes
  // even if that fails. Closes without waiting if the group was never connected or failed earlier, which
  // is not a failure of this call.
  std::optional<OperationFailure> destroy(const Fingerprint& fingerprint, double timeoutMs);

  // Ends the current operation within kLivenessInterval, with FailureCode::Closed.
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }

 private:
  void settleMessages(Collectives& collectives, const Call& call);
  Acceptor takeListeners(const Topology& topology, Milliseconds silentPeerTimeout);
  std::optional<Acceptor> takeRelayListener(const Directory& directory);
  void fail(const Failure& failure, const Fingerprint& fingerprint, double timeoutMs);
  void failToConnect(const Failure& failure, const Fingerprint& fingerprint, double timeoutMs);
  void close();

  int rank_;
  int size_;
  Token token_{};
  std::optional<Authentication> authentication_;
  Listener unixListener_;
  Listener tcpListener_;
  Listener relayListener_;
  std::uint64_t operations_ = 0;
  WaitReports reports_;
  std::unique_ptr<Connections> connections_;
  std::unique_ptr<Collectives> collectives_;
  std::unique_ptr<PointToPoint> pointToPoint_;
  std::optional<OperationFailure> failure_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace ringrun
