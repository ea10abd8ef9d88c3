#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/processor.h"

namespace ringrun {

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

bool requestTiles() {
#if defined(__x86_64__)
  // arch/x86/include/uapi/asm/prctl.h
  constexpr int kRequestPermission = 0x1023;
  constexpr int kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace ringrun
