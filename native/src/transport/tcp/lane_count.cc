#include "transport/tcp/lane_count.h"

#include <algorithm>
#include <utility>

namespace ringrun {
namespace {

constexpr std::chrono::minutes kLongestPause{5};

// The first ten segments of 128 lanes take this long on a link of 1 Gbit/s, which is not full then.
constexpr std::chrono::milliseconds kBurst{15};

// Share of segments that were sent again. Fewer are lost by chance, and then more connections are faster.
constexpr std::uint64_t kSegmentsPerLost = 50;

}  // namespace

bool LaneCount::onSent(Clock::time_point begunAt, Clock::time_point now, const TcpPath& path,
                       std::uint32_t opened) {
  Segments& before = helps() ? ofLanes_ : ofConnection_;
  const bool full = isFull(path, std::exchange(before, Segments{path.sent, path.resent}));
  if (begunAt < changedAt_) return full;
  if (full) {
    if (!helps()) return full;
    inUse_ = std::max<std::uint32_t>(inUse() / 2, 1);
    growsAfter_ = now + pause_;
    pause_ = std::min<std::chrono::seconds>(2 * pause_, kLongestPause);
  } else if (now >= growsAfter_ && 2 * (now - begunAt) > 3 * path.shortestRoundTrip) {
    inUse_ = std::max(inUse(), std::min({2 * inUse(), opened, most_}));
  } else {
    return full;
  }
  changedAt_ = now;
  return full;
}

// Segments wait in front of the link, or are dropped there.
bool LaneCount::isFull(const TcpPath& path, const Segments& before) {
  const std::uint64_t sent = path.sent - std::min(before.sent, path.sent);
  const std::uint64_t resent = path.resent - std::min(before.resent, path.resent);
  const auto waiting = std::max<std::chrono::microseconds>(path.shortestRoundTrip / 4, kBurst);
  return path.roundTrip > path.shortestRoundTrip + waiting || resent * kSegmentsPerLost > sent;
}

}  // namespace ringrun
