#pragma once

#include <functional>
#include <memory>

namespace ringrun {

// A stack of its own, on which a function runs until it pauses, and later goes on where it stopped.
//
// May be made by any thread; runs on one only, that of the first resume(): C++ code keeps addresses of thread-local
// variables over calls. For the same reason it may not pause in a catch block, since the exceptions being handled are
// kept per thread, as a stack: terminates the process if it does.
class Fiber {
 public:
  // `body` never returns: between two of its uses, a fiber is one that has paused. Throws Failure when there is no
  // memory for a stack.
  explicit Fiber(std::function<void()> body);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Objects that live on the stack of a paused fiber are not destroyed.
  ~Fiber();

  // Runs the fiber until it pauses. Not to be called by a fiber.
  void resume();

  // Called by the fiber itself: goes back to who resumed it. Returns when it is resumed.
  void pause();

 private:
  struct Execution;

  void run() noexcept;
  static void enter() noexcept;

  std::function<void()> body_;
  std::unique_ptr<Execution> execution_;
};

}  // namespace ringrun
