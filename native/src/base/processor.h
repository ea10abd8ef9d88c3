#pragma once

#include <cstdint>

#include "base/deadline.h"

namespace ringrun {

constexpr std::uint32_t kUnknownProcessor = ~std::uint32_t{0};

// The processor on which the calling thread runs, or kUnknownProcessor. Takes some nanoseconds.
std::uint32_t currentProcessor();

// Moves the calling thread to another processor of its affinity mask, which does not change. Takes some
// microseconds. Does nothing if currentProcessor() is unknown.
void moveToAnotherProcessor();

// Asks the system for the tile registers of AMX, which it gives to processes that ask. Returns false if it does not.
bool requestTiles();

// Moves a waiting thread off the processor of the thread that it waits for. Two ranks that wait for each other
// in turn never run at the same time, so the scheduler does not separate them if they start on one processor,
// and each turn then costs two context switches.
class ProcessorMover {
 public:
  // Moves this thread if it runs on processor `theirs` of this machine. Returns false if it still does.
  bool moveAwayFrom(std::uint32_t theirs);

 private:
  Clock::time_point nextMove_{};
};

}  // namespace ringrun
