#pragma once

#include <chrono>
#include <ctime>

namespace ringrun {

// Processor time that the calling thread has used. It does not grow while other threads have the processor.
inline std::chrono::nanoseconds threadTime() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace ringrun
