#include "base/thread_scheduling.h"

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace ringrun {
namespace {

// struct sched_attr of sched_setattr(2), in its first version, for which glibc before 2.41 has no declaration.
struct SchedulingAttributes {
  std::uint32_t size;
  std::uint32_t policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t sliceNanoseconds;  // 0: the system's default
  std::uint64_t deadline;
  std::uint64_t period;
};

// Threads and processes that a thread creates later get the system's slice. They also lose a negative niceness.
constexpr std::uint64_t kResetOnFork = 1;

// Changes the attributes of the calling thread if it has the usual policy.
template <typename Change>
void changeAttributes(Change change) {
  SchedulingAttributes attributes{};
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0 || attributes.policy != SCHED_OTHER) return;
  change(attributes);
  ::syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace

void nameThread(const char* name) { ::pthread_setname_np(::pthread_self(), name); }

void giveWayToOtherThreads(int steps) {
  if (steps == 0) return;
  changeAttributes([steps](SchedulingAttributes& attributes) {
    constexpr std::int32_t kMost = 19;
    attributes.nice = std::min(kMost, attributes.nice + steps);
  });
}

void preferShortSlices() {
  changeAttributes([](SchedulingAttributes& attributes) {
    // Threads with more than the usual share are rarely late.
    if (attributes.nice < 0) return;
    attributes.flags |= kResetOnFork;
    attributes.sliceNanoseconds = 100'000;
  });
}

}  // namespace ringrun
