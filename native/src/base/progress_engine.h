#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/fiber.h"
#include "base/waiter.h"

namespace ringrun {

// The native thread of this process on which the operations of all groups run, each on its own fiber. Code on a
// fiber is written as if it had its own thread: where it would block, it suspends, and another fiber continues.
// If none can continue, the thread sleeps until the wait condition of any fiber holds.
//
// A fiber yields the thread only in suspend(). While one computes or spins, the others wait.
//
// submit() may be called by any thread, suspend() by a fiber. Everything else belongs to the engine's thread,
// which shares with others only the members guarded by `mutex_`.
class ProgressEngine {
 public:
  // Does one portion of its work and returns true if there is more. Must not throw.
  using Job = std::function<bool()>;

  // The engine of this process; exists while a shared_ptr to it exists. Throws Failure or std::system_error if
  // it cannot be created. The last owner must not be a fiber, and all its jobs must have completed.
  static std::shared_ptr<ProgressEngine> shared();

  ProgressEngine();
  ProgressEngine(const ProgressEngine&) = delete;
  ProgressEngine& operator=(const ProgressEngine&) = delete;
  ~ProgressEngine();

  // Calls the job on a fiber until it returns false; other fibers run between the calls. Throws Failure if a
  // stack cannot be allocated; the job is then never called.
  void submit(Job job);

  // On a fiber: returns when the condition holds, or spuriously, with `revents` of its interests set. Returns
  // false at once if the calling thread is not on a fiber.
  static bool suspend(WaitCondition condition);

 private:
  struct JobRunner;

  void work();
  bool startSubmitted();
  void resumeReady();

  std::mutex mutex_;
  std::vector<std::unique_ptr<JobRunner>> submitted_;  // guarded by mutex_
  std::vector<std::unique_ptr<JobRunner>> idle_;       // guarded by mutex_; kept to reuse their stacks
  bool ending_ = false;                                // guarded by mutex_

  std::vector<std::unique_ptr<JobRunner>> runners_;
  std::vector<WaitCondition*> conditions_;
  Waiter waiter_;
  std::thread thread_;
};

}  // namespace ringrun
