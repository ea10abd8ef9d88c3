#include "base/context.h"

#include <cerrno>
#include <cstdint>

#include "base/failure.h"

#ifdef RINGRUN_OWN_CONTEXT

// Begin and end of a function in assembler, visible only in this library. Mach-O prefixes the names of C with an underscore.
#ifdef __APPLE__
#define RINGRUN_FUNCTION(name) ".p2align 4\n.globl _" name "\n.private_extern _" name "\n_" name ":\n"
#define RINGRUN_END(name)
#else
#define RINGRUN_FUNCTION(name) ".p2align 4\n.globl " name "\n.hidden " name "\n.type " name ", %function\n" name ":\n"
#define RINGRUN_END(name) ".size " name ", . - " name "\n"
#endif

extern "C" __attribute__((visibility("hidden"))) void ringrun_change_stack(void** saved, void* next);

#ifdef __x86_64__

// Pushes the callee-saved registers (System V ABI, 3.2.1), switches stacks, and pops them from the other stack.
// The floating-point control words belong to the thread and do not change.
asm(".text\n" RINGRUN_FUNCTION("ringrun_change_stack") R"(
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
)" RINGRUN_END("ringrun_change_stack"));

namespace ringrun {

// From the top of the stack: a return address of zero, at which stack walkers stop; the entry, to which the
// first switch returns; six registers. The entry then finds the stack aligned as after a call: 8 below a
// multiple of 16.
Context::Context(void* bottom, std::size_t bytes, void (*entry)()) {
  constexpr std::size_t kRegisters = 6;
  const auto top = (reinterpret_cast<std::uintptr_t>(bottom) + bytes) / 16 * 16;
  auto* words = reinterpret_cast<std::uintptr_t*>(top);
  *--words = 0;
  *--words = reinterpret_cast<std::uintptr_t>(entry);
  for (std::size_t i = 0; i < kRegisters; ++i) *--words = 0;
  stackPointer_ = words;
}

}  // namespace ringrun

#else

// Stores the callee-saved registers (AAPCS64, 6.1.1 and 6.1.2: x19 to x30, the low halves of v8 to v15),
// switches stacks, and loads them from the other stack. A new stack starts in ringrun_enter_stack, which calls
// x19 with a return address of zero.
asm(".text\n" RINGRUN_FUNCTION("ringrun_change_stack") R"(
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
)" RINGRUN_END("ringrun_change_stack") RINGRUN_FUNCTION("ringrun_enter_stack") R"(
  mov x16, x19
  mov x30, xzr
  br x16
)" RINGRUN_END("ringrun_enter_stack"));

extern "C" __attribute__((visibility("hidden"))) void ringrun_enter_stack();

namespace ringrun {

// The 20 words that the first switch loads: x19 is the entry, x30 the address to which that switch returns. All
// others, including the frame pointer, are zero.
Context::Context(void* bottom, std::size_t bytes, void (*entry)()) {
  constexpr std::size_t kWords = 20, kX19 = 0, kX30 = 11;
  const auto top = (reinterpret_cast<std::uintptr_t>(bottom) + bytes) / 16 * 16;
  auto* words = reinterpret_cast<std::uintptr_t*>(top) - kWords;
  for (std::size_t i = 0; i < kWords; ++i) words[i] = 0;
  words[kX19] = reinterpret_cast<std::uintptr_t>(entry);
  words[kX30] = reinterpret_cast<std::uintptr_t>(&ringrun_enter_stack);
  stackPointer_ = words;
}

}  // namespace ringrun

#endif

namespace ringrun {

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
