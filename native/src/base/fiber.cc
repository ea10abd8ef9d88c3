#include "base/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "base/context.h"
#include "base/failure.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RINGRUN_ADDRESS_SANITIZER 1
#endif
#if __has_feature(thread_sanitizer)
#define RINGRUN_THREAD_SANITIZER 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define RINGRUN_ADDRESS_SANITIZER 1
#endif
#ifdef __SANITIZE_THREAD__
#define RINGRUN_THREAD_SANITIZER 1
#endif

#ifdef RINGRUN_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#ifdef RINGRUN_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace ringrun {

// Not in an anonymous namespace, because Fiber::Execution has members of these classes.
namespace fiber {

// Several times the need of the deepest operation. Untouched pages cost nothing.
constexpr std::size_t kStackBytes = 256 * 1024;

// A stack with a guard page below it, so that an overflow crashes instead of corrupting memory.
class Stack {
 public:
  Stack() : guardBytes_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    void* address = ::mmap(nullptr, guardBytes_ + kStackBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address == MAP_FAILED) throwSystem("mmap", errno, "the stack of an operation");
    base_ = static_cast<std::uint8_t*>(address);
    if (::mprotect(bottom(), kStackBytes, PROT_READ | PROT_WRITE) != 0) {
      const int error = errno;
      ::munmap(base_, guardBytes_ + kStackBytes);
      throwSystem("mprotect", error, "the stack of an operation");
    }
    registerWithSanitizer();
  }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  ~Stack() {
    unregisterFromSanitizer();
    ::munmap(base_, guardBytes_ + kStackBytes);
  }

  std::uint8_t* bottom() const { return base_ + guardBytes_; }

 private:
#ifdef RINGRUN_ADDRESS_SANITIZER
  // Memory that a paused operation holds is not a leak: the process may exit before it continues.
  void registerWithSanitizer() { __lsan_register_root_region(bottom(), kStackBytes); }
  // Removes the marks of frames that were never left, for the next mapping at these addresses.
  void unregisterFromSanitizer() {
    __lsan_unregister_root_region(bottom(), kStackBytes);
    __asan_unpoison_memory_region(bottom(), kStackBytes);
  }
#else
  void registerWithSanitizer() {}
  void unregisterFromSanitizer() {}
#endif

  std::size_t guardBytes_;
  std::uint8_t* base_ = nullptr;
};

// The sanitizers track each stack and need a call before and after every switch: on the stack being left
// directly before, and on the stack being entered directly after it.
class SanitizerHooks {
 public:
#if defined(RINGRUN_ADDRESS_SANITIZER)
  void beforeEntering(const Stack& stack) {
    __sanitizer_start_switch_fiber(&outerFrames_, stack.bottom(), kStackBytes);
  }
  void afterEntering() { __sanitizer_finish_switch_fiber(innerFrames_, &outerBottom_, &outerBytes_); }
  void beforeLeaving() { __sanitizer_start_switch_fiber(&innerFrames_, outerBottom_, outerBytes_); }
  void afterLeaving() { __sanitizer_finish_switch_fiber(outerFrames_, nullptr, nullptr); }

 private:
  void* outerFrames_ = nullptr;
  void* innerFrames_ = nullptr;
  const void* outerBottom_ = nullptr;
  std::size_t outerBytes_ = 0;
#elif defined(RINGRUN_THREAD_SANITIZER)
  ~SanitizerHooks() { __tsan_destroy_fiber(inner_); }
  void beforeEntering(const Stack&) {
    outer_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(inner_, 0);
  }
  void afterEntering() {}
  void beforeLeaving() { __tsan_switch_to_fiber(outer_, 0); }
  void afterLeaving() {}

 private:
  void* inner_ = __tsan_create_fiber(0);
  void* outer_ = nullptr;
#else
  void beforeEntering(const Stack&) {}
  void afterEntering() {}
  void beforeLeaving() {}
  void afterLeaving() {}
#endif
};

}  // namespace fiber

struct Fiber::Execution {
  fiber::Stack stack;
  fiber::SanitizerHooks hooks;
  Context inner{stack.bottom(), fiber::kStackBytes, &Fiber::enter};
  Context outer;
};

namespace {

// Passes the fiber to its entry, which has no arguments.
thread_local Fiber* entering = nullptr;

}  // namespace

Fiber::Fiber(std::function<void()> body) : body_(std::move(body)), execution_(std::make_unique<Execution>()) {}

Fiber::~Fiber() = default;

void Fiber::enter() noexcept { entering->run(); }

void Fiber::run() noexcept {
  execution_->hooks.afterEntering();
  body_();
  std::terminate();
}

void Fiber::resume() {
  entering = this;
  execution_->hooks.beforeEntering(execution_->stack);
  Context::change(execution_->outer, execution_->inner);
  execution_->hooks.afterLeaving();
}

void Fiber::pause() {
  if (std::current_exception() != nullptr) std::terminate();
  execution_->hooks.beforeLeaving();
  Context::change(execution_->inner, execution_->outer);
  execution_->hooks.afterEntering();
}

}  // namespace ringrun
