#include "base/processor.h"

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

}  // namespace ringrun
