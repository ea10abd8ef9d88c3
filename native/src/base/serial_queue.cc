#include "base/serial_queue.h"

#include <utility>

namespace ringrun {

// Waits under the lock even when nothing is unfinished: the last task may still be about to unlock.
SerialQueue::~SerialQueue() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return unfinished_.load(std::memory_order_acquire) == 0; });
}

void SerialQueue::submit(Task task) {
  if (!engine_) engine_ = Engine::shared();
  bool isRunning;
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    isRunning = unfinished_.fetch_add(1, std::memory_order_relaxed) > 0;
  }
  // Not under the lock, which the first thing that the engine does would wait for.
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
  idle_.wait(lock, [this] { return unfinished_.load(std::memory_order_acquire) == 0; });
}

bool SerialQueue::runOne() {
  Task task;
  {
    const std::lock_guard lock(mutex_);
    task = std::move(tasks_.front());
    tasks_.pop_front();
  }
  task();
  task = {};  // what it holds is released before anybody learns that it is done
  // Everything under the lock, since the queue may be gone as soon as nothing is unfinished.
  const std::lock_guard lock(mutex_);
  const bool more = unfinished_.fetch_sub(1, std::memory_order_release) > 1;
  if (!more) idle_.notify_all();
  return more;
}

}  // namespace ringrun
