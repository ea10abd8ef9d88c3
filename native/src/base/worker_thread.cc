#include "base/worker_thread.h"

#include <utility>

namespace ringrun {

WorkerThread::~WorkerThread() {
  {
    const std::lock_guard lock(mutex_);
    isEnding_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void WorkerThread::submit(Task task) {
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void WorkerThread::awaitIdle() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return !isBusy_ && tasks_.empty(); });
}

bool WorkerThread::isIdle() {
  const std::lock_guard lock(mutex_);
  return !isBusy_ && tasks_.empty();
}

void WorkerThread::run() {
  for (;;) {
    Task task;
    {
      std::unique_lock lock(mutex_);
      isBusy_ = false;
      if (tasks_.empty()) idle_.notify_all();
      changed_.wait(lock, [this] { return isEnding_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
      isBusy_ = true;
    }
    task();
  }
}

}  // namespace ringrun
