#ifdef __APPLE__
#define _XOPEN_SOURCE 700  // without it, <ucontext.h> is an error there
#define _DARWIN_C_SOURCE
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
#endif

#include "base/context.h"

#include <cerrno>
#include <cstdint>

#include "base/failure.h"

#ifdef RINGRUN_OWN_CONTEXT

// Pushes what the calling convention obliges a function to preserve (System V ABI, 3.2.1), changes stacks, and pops the
// same from the other. The floating-point control words are the thread's: nobody here changes them.
asm(R"(
  .text
  .p2align 4
  .globl ringrun_change_stack
  .hidden ringrun_change_stack
  .type ringrun_change_stack, @function
ringrun_change_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size ringrun_change_stack, . - ringrun_change_stack
)");

extern "C" __attribute__((visibility("hidden"))) void ringrun_change_stack(void** saved, void* next);

namespace ringrun {

// From the top of the stack: a return address of zero, at which whoever walks the stack stops; the entry, to which the
// first change returns; six registers. The entry then finds the stack aligned as after a call: 8 below a multiple of 16.
Context::Context(void* bottom, std::size_t bytes, void (*entry)()) {
  constexpr std::size_t kRegisters = 6;
  const auto top = (reinterpret_cast<std::uintptr_t>(bottom) + bytes) / 16 * 16;
  auto* words = reinterpret_cast<std::uintptr_t*>(top);
  *--words = 0;
  *--words = reinterpret_cast<std::uintptr_t>(entry);
  for (std::size_t i = 0; i < kRegisters; ++i) *--words = 0;
  stackPointer_ = words;
}

void Context::change(Context& from, Context& to) { ringrun_change_stack(&from.stackPointer_, to.stackPointer_); }

}  // namespace ringrun

#else

namespace ringrun {

Context::Context(void* bottom, std::size_t bytes, void (*entry)()) {
  if (::getcontext(&saved_) != 0) throwSystem("getcontext", errno, "the stack of an operation");
  saved_.uc_stack.ss_sp = bottom;
  saved_.uc_stack.ss_size = bytes;
  saved_.uc_link = nullptr;
  ::makecontext(&saved_, entry, 0);
}

void Context::change(Context& from, Context& to) { ::swapcontext(&from.saved_, &to.saved_); }

}  // namespace ringrun

#endif
