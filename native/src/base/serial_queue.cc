#include "base/serial_queue.h"

#include <utility>

#include "base/deadline.h"
#include "base/wait.h"

namespace ringrun {

// Waits under the lock even if no task is unfinished, because the last one may not have unlocked yet.
SerialQueue::~SerialQueue() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return unfinished_.load(std::memory_order_acquire) == 0; });
}

void SerialQueue::submit(Task task) {
  bool isRunning;
  {
    const std::lock_guard lock(mutex_);
    if (!engine_) engine_ = ProgressEngine::shared();
    tasks_.push_back(std::move(task));
    isRunning = unfinished_.fetch_add(1, std::memory_order_acq_rel) > 0;
  }
  // Not under the lock, which the engine acquires first.
  if (!isRunning) start();
}

void SerialQueue::start() {
  try {
    engine_->submit([this] { return runOne(); });
  } catch (...) {
    const std::lock_guard lock(mutex_);
    unfinished_.fetch_sub(tasks_.size(), std::memory_order_release);
    tasks_.clear();
    throw;
  }
}

void SerialQueue::acquire() {
  for (;;) {
    std::size_t none = 0;
    if (unfinished_.compare_exchange_strong(none, 1, std::memory_order_acq_rel)) return;
    awaitIdle();
  }
}

// No thread waits in awaitIdle(): only its owner calls it, which is in this function now.
void SerialQueue::release() {
  if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) > 1) start();
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
  // All under the lock, because the owner may destroy the queue as soon as no task is unfinished.
  const std::lock_guard lock(mutex_);
  const bool more = unfinished_.fetch_sub(1, std::memory_order_acq_rel) > 1;
  if (!more) idle_.notify_all();
  return more;
}

}  // namespace ringrun
