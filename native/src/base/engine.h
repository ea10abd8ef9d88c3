#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/fiber.h"
#include "base/sleeper.h"

namespace ringrun {

// The one native thread of this process on which operations run, however many groups there are. Each runs on a
// *strand*, a stack of its own, so that it can be written as if it had a thread of its own: where it would sleep, it
// hands the thread to the strands that can go on. When none can, the thread sleeps for the reasons of all of them.
//
// A strand gives up the thread in suspend() only. One that computes, or spins, keeps the others waiting.
//
// submit() may be called by every thread; suspend() by a strand; everything else belongs to the engine's thread, which
// shares with others only what `mutex_` guards.
class Engine {
 public:
  // Does one portion of its work, and says whether there is more. Must not throw.
  using Job = std::function<bool()>;

  // The engine of this process, which lives as long as anybody holds it. Throws Failure or std::system_error when
  // there cannot be one. The last to let go must not be a strand, and must have no jobs left that are not done.
  static std::shared_ptr<Engine> shared();

  Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  // Calls the job, on a strand, until it says that there is no more; the other strands have their turn between the
  // portions. Throws Failure when there is no memory for a stack; then the job is never called.
  void submit(Job job);

  // On a strand: returns when the reason has occurred, or spuriously; its interests have their `revents` set. Returns
  // false at once when the calling thread is not on a strand.
  static bool suspend(Reason reason);

 private:
  struct Strand;

  void work();
  bool startSubmitted();
  void resumeThoseWhoCan();

  std::mutex mutex_;
  std::vector<std::unique_ptr<Strand>> submitted_;  // guarded by mutex_
  std::vector<std::unique_ptr<Strand>> idle_;       // guarded by mutex_; kept for their stacks
  bool ending_ = false;                             // guarded by mutex_

  std::vector<std::unique_ptr<Strand>> strands_;
  std::vector<Reason*> reasons_;
  Sleeper sleeper_;
  std::thread thread_;
};

}  // namespace ringrun
