#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/failure.h"
#include "base/serial_queue.h"

namespace ringrun {

// Submits tasks of any thread to the queue of a group, until the group ends.
class StartingPoint {
 public:
  explicit StartingPoint(SerialQueue& queue) : queue_(&queue) {}

  // Returns false after close().
  bool submit(SerialQueue::Task task);

  // Afterwards, the queue is no longer used.
  void close();

 private:
  std::mutex mutex_;
  SerialQueue* queue_;
};

// A collective with fixed arguments that any thread can start without JavaScript, again after each end: from inside a
// running graph (binding/graph_calls.h). The start determines its position in the group's order.
class StartableOperation : public std::enable_shared_from_this<StartableOperation> {
 public:
  using Work = std::function<std::optional<OperationFailure>()>;
  using Ended = std::function<void(const std::optional<OperationFailure>&)>;

  // `work` runs on the thread of the group's operations.
  StartableOperation(std::shared_ptr<StartingPoint> startingPoint, Work work)
      : startingPoint_(std::move(startingPoint)), work_(std::move(work)) {}

  // Must not be called while it runs. Throws if the thread cannot be created.
  void start();

  // Blocks until it does not run, or for about kLivenessInterval. Returns false if it still runs.
  bool waitBriefly();

  // True if it does not run and the last run did not fail.
  bool hasSucceeded();

  // The failure of the last run, if it failed.
  std::optional<OperationFailure> failure();

  // Calls `ended` when it does not run: at once, or on the thread of the group's operations.
  void whenEnded(Ended ended);

 private:
  void run();
  void end(std::optional<OperationFailure> failure);

  const std::shared_ptr<StartingPoint> startingPoint_;
  const Work work_;
  std::mutex mutex_;  // guards the members below
  std::condition_variable ended_;
  bool isRunning_ = false;
  std::optional<OperationFailure> failure_;
  std::vector<Ended> waiting_;
};

}  // namespace ringrun
