#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace ringrun {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

// Interval at which a waiting rank checks its peers' connections: the maximum delay until it detects a death.
constexpr Milliseconds kLivenessInterval{100};

// The time at which a wait fails, and the timeout that it was computed from (for error messages).
//
// A wait looks at it about every kLivenessInterval. If it has not for kStandstill, this process stood still (SIGSTOP,
// `docker pause`, a suspended virtual machine), and its peers perhaps too: that time does not count.
class Deadline {
 public:
  // `milliseconds` may be infinite or larger than the clock can express.
  static Deadline after(double milliseconds) {
    constexpr double kForever = 1e14;  // 3,000 years, which fit a 64-bit count of microseconds
    const double bounded = std::isfinite(milliseconds) ? std::min(milliseconds, kForever) : kForever;
    const auto microseconds = std::chrono::microseconds(static_cast<long long>(bounded * 1000));
    const auto now = Clock::now();
    const auto most = std::chrono::duration_cast<std::chrono::microseconds>(Clock::time_point::max() - now);
    return Deadline(now, now + std::min(microseconds, most), milliseconds);
  }

  bool passed() const { return look() >= at_; }

  // Remaining time until the next look: at least zero, at most `most` and kLivenessInterval.
  Milliseconds leftWithin(Milliseconds most) const {
    const auto left = std::chrono::ceil<Milliseconds>(at_ - look());
    return std::clamp(left, Milliseconds{0}, std::min(most, kLivenessInterval));
  }

  // Time since the start in which this process has run.
  Clock::duration waited() const {
    const auto now = look();
    return now - since_ - stoodStill_;
  }

  // Time since the start in which this process stood still.
  Clock::duration stoodStill() const {
    look();
    return stoodStill_;
  }

  double timeoutMs() const { return timeoutMs_; }

  // Start of the timeout.
  Clock::time_point since() const { return since_; }

 private:
  static constexpr Milliseconds kStandstill{1000};

  Deadline(Clock::time_point since, Clock::time_point at, double timeoutMs)
      : since_(since), timeoutMs_(timeoutMs), at_(at), looked_(since) {}

  Clock::time_point look() const {
    const auto now = Clock::now();
    const auto gap = now - std::exchange(looked_, now);
    if (gap < kStandstill) return now;
    stoodStill_ += gap;
    at_ += std::min(gap, Clock::time_point::max() - at_);
    return now;
  }

  Clock::time_point since_;
  double timeoutMs_;
  mutable Clock::time_point at_;
  mutable Clock::time_point looked_;
  mutable Clock::duration stoodStill_{0};
};

}  // namespace ringrun
