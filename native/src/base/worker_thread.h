#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace ringrun {

// A thread that runs tasks one at a time, in the order of submission. It starts with the first task.
class WorkerThread {
 public:
  using Task = std::function<void()>;

  WorkerThread() = default;
  WorkerThread(const WorkerThread&) = delete;
  WorkerThread& operator=(const WorkerThread&) = delete;

  // Runs all submitted tasks, then ends the thread.
  ~WorkerThread();

  // Throws std::system_error if no thread can be created for the first task; the task is then not queued.
  void submit(Task task);

  // True on this thread itself.
  bool isCurrent() const { return thread_.get_id() == std::this_thread::get_id(); }

  // Blocks until all submitted tasks have ended.
  void awaitIdle();

  // True if all submitted tasks have ended.
  bool isIdle();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::condition_variable idle_;
  std::deque<Task> tasks_;
  bool isBusy_ = false;
  bool isEnding_ = false;
  std::thread thread_;
};

}  // namespace ringrun
