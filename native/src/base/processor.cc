#include "base/processor.h"

#ifdef __linux__
#include <sched.h>
#endif

namespace ringrun {
namespace {

// Minimum interval between two moves. If all processors are busy, moving does not help.
constexpr Milliseconds kMoveInterval{2};

}  // namespace

bool ProcessorMover::moveAwayFrom(std::uint32_t theirs) {
  const std::uint32_t here = currentProcessor();
  if (here == kUnknownProcessor || theirs != here) return true;
  const auto now = Clock::now();
  if (now < nextMove_) return false;
  nextMove_ = now + kMoveInterval;
  moveToAnotherProcessor();
  return true;
}

#ifdef __linux__

std::uint32_t currentProcessor() {
  const int processor = ::sched_getcpu();
  return processor < 0 ? kUnknownProcessor : static_cast<std::uint32_t>(processor);
}

// A thread moves at once only if its processor leaves its affinity mask. Restoring the mask does not move it
// back.
void moveToAnotherProcessor() {
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0) return;
  cpu_set_t others = usable;
  CPU_CLR(currentProcessor(), &others);
  if (CPU_COUNT(&others) == 0) return;
  ::sched_setaffinity(0, sizeof others, &others);
  ::sched_setaffinity(0, sizeof usable, &usable);
}

#else

std::uint32_t currentProcessor() { return kUnknownProcessor; }

void moveToAnotherProcessor() {}

#endif

}  // namespace ringrun
