#pragma once

#include <cstddef>

#if defined(__x86_64__) || defined(__aarch64__)
#define RINGRUN_OWN_CONTEXT 1
#else
#include <ucontext.h>
#endif

namespace ringrun {

// A saved execution state, to which control can return.
//
// Implemented here for x86-64 and arm64, because musl has no makecontext, glibc's makes a system call for the signal mask at
// every switch, and macOS's is deprecated. Uses <ucontext.h> elsewhere.
class Context {
 public:
  // The state of the calling thread; filled in by change().
  Context() = default;

  // A new stack on which `entry` will run. `entry` must not return.
  Context(void* bottom, std::size_t bytes, void (*entry)());

  // Saves the current state in `from` and continues at `to`. Returns when another call continues at `from`.
  static void change(Context& from, Context& to);

 private:
#ifdef RINGRUN_OWN_CONTEXT
  void* stackPointer_ = nullptr;
#else
  ucontext_t saved_;
#endif
};

}  // namespace ringrun
