#include "base/serial_queue.h"

#include <utility>

namespace ringrun {

SerialQueue::~SerialQueue() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SerialQueue::submit(Task task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    unfinished_.fetch_add(1, std::memory_order_relaxed);
  }
  changed_.notify_all();
  if (!thread_.joinable()) thread_ = std::thread(&SerialQueue::work, this);
}

void SerialQueue::awaitIdle() {
  if (unfinished_.load(std::memory_order_acquire) == 0) return;
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return unfinished_.load(std::memory_order_acquire) == 0; });
}

void SerialQueue::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = {};  // what it holds is released before anybody learns that it is done
    lock.lock();
    if (unfinished_.fetch_sub(1, std::memory_order_release) == 1) changed_.notify_all();
  }
}

}  // namespace ringrun
