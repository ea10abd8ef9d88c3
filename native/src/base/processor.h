#pragma once

#include <cstdint>

#include "base/deadline.h"

namespace ringrun {

constexpr std::uint32_t kUnknownProcessor = ~std::uint32_t{0};

// The processor that the calling thread runs on now; costs some nanoseconds. kUnknownProcessor where the system does
// not say.
std::uint32_t currentProcessor();

// Moves the calling thread to another of its processors, if it has one; where it may run stays as it was. Some
// microseconds.
void moveToAnotherProcessor();

// Keeps a thread that waits for another off its processor. Two ranks that wait for each other in turn never run at the
// same time, so the scheduler sees no reason to take them off the one processor that they may have begun on; each turn
// then costs two context switches. The one that waits makes room.
class Elbowroom {
 public:
  // Moves away from `theirs`, on this machine, if this thread runs there. False: it still does.
  bool makeFrom(std::uint32_t theirs);

 private:
  Clock::time_point nextMove_{};
};

}  // namespace ringrun
