#include "binding/startable_operation.h"

#include "base/deadline.h"

namespace ringrun {

bool StartingPoint::submit(SerialQueue::Task task) {
  const std::lock_guard lock(mutex_);
  if (queue_ == nullptr) return false;
  queue_->submit(std::move(task));
  return true;
}

void StartingPoint::close() {
  const std::lock_guard lock(mutex_);
  queue_ = nullptr;
}

void StartableOperation::start() {
  {
    const std::lock_guard lock(mutex_);
    isRunning_ = true;
    failure_.reset();
  }
  try {
    if (startingPoint_->submit(SerialQueue::Task([self = shared_from_this()] { self->run(); }))) return;
  } catch (...) {
    end(std::nullopt);
    throw;
  }
  end(OperationFailure{Failure(FailureCode::Closed, {}, "the group has ended"), {}, 0});
}

bool StartableOperation::waitBriefly() {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, kLivenessInterval, [this] { return !isRunning_; });
}

bool StartableOperation::hasSucceeded() {
  const std::lock_guard lock(mutex_);
  return !isRunning_ && !failure_;
}

std::optional<OperationFailure> StartableOperation::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void StartableOperation::whenEnded(Ended ended) {
  std::optional<OperationFailure> failure;
  {
    const std::lock_guard lock(mutex_);
    if (isRunning_) return waiting_.push_back(std::move(ended));
    failure = failure_;
  }
  ended(failure);
}

void StartableOperation::run() { end(work_()); }

void StartableOperation::end(std::optional<OperationFailure> failure) {
  std::vector<Ended> waiting;
  {
    const std::lock_guard lock(mutex_);
    isRunning_ = false;
    failure_ = std::move(failure);
    waiting.swap(waiting_);
    ended_.notify_all();
  }
  for (const Ended& ended : waiting) ended(failure_);
}

}  // namespace ringrun
