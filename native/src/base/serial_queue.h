#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <future>
#include <memory>
#include <mutex>

#include "base/engine.h"

namespace ringrun {

// Runs tasks in the order in which they were given, one at a time, on the engine's thread, which it shares with all
// other queues of this process: while a task sleeps (base/wait.h), those of other queues run.
//
// submit() and awaitIdle() are called by one thread, the owner; tasks run on the other.
// Between awaitIdle() and the next submit(), the owner may touch whatever the tasks touch: it sees all they did.
class SerialQueue {
 public:
  using Task = std::packaged_task<void()>;

  SerialQueue() = default;
  SerialQueue(const SerialQueue&) = delete;
  SerialQueue& operator=(const SerialQueue&) = delete;

  // Ends when the tasks that were given are done.
  ~SerialQueue();

  // Throws Failure or std::system_error when the first task finds no thread or memory to run on; then it is not taken.
  void submit(Task task);

  // Returns when everything that was given is done.
  void awaitIdle();

 private:
  void start();
  bool runOne();

  std::mutex mutex_;
  std::condition_variable idle_;
  std::deque<Task> tasks_;
  std::atomic<std::size_t> unfinished_{0};
  std::shared_ptr<Engine> engine_;
};

}  // namespace ringrun
