#pragma once

#include <functional>
#include <memory>

namespace ringrun {

// A function with its own stack, which can pause and later continue where it paused.
//
// May be created by any thread, but runs only on the thread of the first resume(), because C++ code keeps
// addresses of thread-local variables over calls. For the same reason it must not pause in a catch block,
// because the exceptions being handled are a stack for each thread; it terminates the process if it does.
class Fiber {
 public:
  // `body` must not return: an unused fiber is a paused one. Throws Failure if the stack cannot be allocated.
  explicit Fiber(std::function<void()> body);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // Does not destroy objects on the stack of a paused fiber.
  ~Fiber();

  // Runs the fiber until it pauses. Must not be called by a fiber.
  void resume();

  // Called by the fiber itself: returns control to the caller of resume(), and returns at the next resume().
  void pause();

 private:
  struct Execution;

  void run() noexcept;
  static void enter() noexcept;

  std::function<void()> body_;
  std::unique_ptr<Execution> execution_;
};

}  // namespace ringrun
