#pragma once

#include <cstddef>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
#define RINGRUN_OWN_CONTEXT 1
#else
#ifdef __APPLE__
#ifndef _XOPEN_SOURCE
#error "ucontext needs -D_XOPEN_SOURCE on this system: define it before the first include"
#endif
#endif
#include <ucontext.h>
#endif

namespace ringrun {

// Where a stack was left, to go on there.
//
// Our own on Linux for x86-64 and arm64: musl has no makecontext, and glibc's asks the kernel for the signal mask at every change.
// <ucontext.h> elsewhere.
class Context {
 public:
  // Of the stack that the calling thread is on; filled in when it is left.
  Context() = default;

  // Of a fresh stack, on which `entry` will run. It must not return.
  Context(void* bottom, std::size_t bytes, void (*entry)());

  // Leaves the current stack, and goes on at `to`. Returns when somebody goes on at `from`.
  static void change(Context& from, Context& to);

 private:
#ifdef RINGRUN_OWN_CONTEXT
  void* stackPointer_ = nullptr;
#else
  ucontext_t saved_;
#endif
};

}  // namespace ringrun
