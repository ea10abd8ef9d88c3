#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

namespace ringrun {

// One thread that runs tasks in the order in which they were given. Started by the first task.
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

  void submit(Task task);

  // Returns when everything that was given is done.
  void awaitIdle();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool ending_ = false;
  std::atomic<std::size_t> unfinished_{0};
  std::thread thread_;
};

}  // namespace ringrun
