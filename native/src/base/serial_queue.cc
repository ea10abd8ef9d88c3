#include "base/serial_queue.h"

#include <utility>

#include "base/deadline.h"
#include "base/wait.h"

namespace ringrun {

// Waits under the lock even if no task is unfinished, because the last one may still have to unlock.
SerialQueue::~SerialQueue() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return unfinished_.load(std::memory_order_acquire) == 0; });
}

void SerialQueue::submit(Task task) {
  if (!engine_) engine_ = ProgressEngine::shared();
  bool isRunning;
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    isRunning = unfinished_.fetch_add(1, std::memory_order_relaxed) > 0;
  }
  // Not under the lock, which the engine acquires first.
  if (!isRunning) start();
}

void SerialQueue::start() {
  try {
    engine_->submit([this] { return runOne(); });
  } catch (...) {
    tasks_.clear();
    unfinished_.store(0, std::memory_order_relaxed);
    throw;
  }
}

void SerialQueue::awaitIdle() {
  if (unfinished_.load(std::memory_order_acquire) == 0) return;
  std::unique_lock lock(mutex_);
  while (!idle_.wait_for(lock, kLivenessInterval, [this] { return unfinished_.load(std::memory_order_acquire) == 0; })) {
    lock.unlock();
    callWhileBlocked();
    lock.lock();
  }
}

bool SerialQueue::runOne() {
  Task task;
  {
    const std::lock_guard lock(mutex_);
    task = std::move(tasks_.front());
    tasks_.pop_front();
  }
  task();
  task = {};  // releases what the task holds before the owner sees its completion
  // Everything under the lock, because the owner may destroy the queue as soon as no task is unfinished.
  const std::lock_guard lock(mutex_);
  const bool more = unfinished_.fetch_sub(1, std::memory_order_release) > 1;
  if (!more) idle_.notify_all();
  return more;
}

}  // namespace ringrun
