#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <future>
#include <memory>
#include <mutex>

#include "base/progress_engine.h"

namespace ringrun {

// Runs tasks one at a time, in the order of submission, on the progress engine. While a task sleeps
// (base/wait.h), tasks of other queues run.
//
// submit() may be called by any thread, everything else by one thread, the owner. Tasks run on the engine's thread, and
// see the writes of earlier tasks.
class SerialQueue {
 public:
  using Task = std::packaged_task<void()>;

  SerialQueue() = default;
  SerialQueue(const SerialQueue&) = delete;
  SerialQueue& operator=(const SerialQueue&) = delete;

  // Waits until all submitted tasks have completed.
  ~SerialQueue();

  // Throws Failure or std::system_error if no thread or stack can be created for the first task; the task is then not queued.
  void submit(Task task);

  // Waits until all submitted tasks have completed.
  void awaitIdle();

  // Calls `run` on this thread after all submitted tasks. Tasks submitted meanwhile run after it. `run` must not
  // throw.
  template <typename Run>
  void runHere(Run run) {
    acquire();
    run();
    release();
  }

 private:
  void acquire();
  void release();
  void start();
  bool runOne();

  std::mutex mutex_;
  std::condition_variable idle_;
  std::deque<Task> tasks_;
  // Tasks that have not completed, including the one of runHere().
  std::atomic<std::size_t> unfinished_{0};
  std::shared_ptr<ProgressEngine> engine_;
};

}  // namespace ringrun
