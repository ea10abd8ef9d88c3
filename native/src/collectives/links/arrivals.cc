#include "collectives/links/arrivals.h"

#include <numeric>

namespace ringrun {
namespace {

// A sender waits for an acknowledgement for about one round trip; shorter pauses are those of a busy processor.
constexpr double kShortestPausePerRoundTrip = 0.4;
constexpr double kLongRoundTrip = 0.02;

}  // namespace

// The last part that arrived before the middle, whose bytes are not counted: what this process reads after it was not running
// has arrived in the meantime.
std::size_t Arrivals::beginOfLaterHalf() const {
  const auto middle = parts_.front().at + (parts_.back().at - parts_.front().at) / 2;
  std::size_t last = 0;
  while (last + 1 < parts_.size() && parts_[last + 1].at <= middle) ++last;
  return last;
}

double Arrivals::wholeBytes() const {
  return std::accumulate(parts_.begin(), parts_.end(), 0.0, [](double sum, const Part& part) { return sum + part.bytes; });
}

double Arrivals::rate(double roundTripSeconds, double sentSeconds) const {
  if (parts_.size() < 3) return 0;
  double bytes = 0;
  double seconds = 0;
  double bytesAtOnce = 0;
  double secondsAtOnce = 0;
  for (std::size_t i = beginOfLaterHalf() + 1; i < parts_.size(); ++i) {
    const double gap = std::chrono::duration<double>(parts_[i].at - parts_[i - 1].at).count();
    bytes += parts_[i].bytes;
    seconds += gap;
    if (gap > kShortestPausePerRoundTrip * roundTripSeconds) continue;
    bytesAtOnce += parts_[i].bytes;
    secondsAtOnce += gap;
  }
  const bool hasPauses = roundTripSeconds >= kLongRoundTrip && bytesAtOnce > bytes / 2 && secondsAtOnce > 0;
  if (hasPauses) return bytesAtOnce / secondsAtOnce;
  const double average = wholeBytes() / sentSeconds;
  // The later half of the time has no more bytes than the whole. A process that did not run when the other one began to send
  // finds parts that have arrived before, and reads them at once.
  return seconds > 0 && bytes / seconds < 2 * average ? bytes / seconds : average;
}

}  // namespace ringrun
