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
    Deadline deadline(milliseconds);
    deadline.start();
    return deadline;
  }

  // Starts at the first look, which is at the first wait: reading the clock takes 20 ns, a tenth of a short operation.
  static Deadline afterFirstLook(double milliseconds) { return Deadline(milliseconds); }

  bool passed() const {
    const auto now = look();
    return now >= at_;
  }

  // Remaining time until the next look: at least zero, at most `most` and kLivenessInterval.
  Milliseconds leftWithin(Milliseconds most) const {
    const auto now = look();
    const auto left = std::chrono::ceil<Milliseconds>(at_ - now);
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
  Clock::time_point since() const {
    if (!hasStarted()) start();
    return since_;
  }

 private:
  static constexpr Milliseconds kStandstill{1000};

  explicit Deadline(double timeoutMs) : timeoutMs_(timeoutMs) {}

  bool hasStarted() const { return since_ != Clock::time_point::min(); }

  Clock::time_point start() const {
    constexpr double kForever = 1e14;  // 3,000 years, which fit a 64-bit count of microseconds
    const double bounded = std::isfinite(timeoutMs_) ? std::min(timeoutMs_, kForever) : kForever;
    const auto microseconds = std::chrono::microseconds(static_cast<long long>(bounded * 1000));
    since_ = looked_ = Clock::now();
    const auto most = std::chrono::duration_cast<std::chrono::microseconds>(Clock::time_point::max() - since_);
    at_ = since_ + std::min(microseconds, most);
    return since_;
  }

  Clock::time_point look() const {
    if (!hasStarted()) return start();
    const auto now = Clock::now();
    const auto gap = now - std::exchange(looked_, now);
    if (gap < kStandstill) return now;
    stoodStill_ += gap;
    at_ += std::min(gap, Clock::time_point::max() - at_);
    return now;
  }

  double timeoutMs_;
  mutable Clock::time_point since_ = Clock::time_point::min();
  mutable Clock::time_point at_;
  mutable Clock::time_point looked_;
  mutable Clock::duration stoodStill_{0};
};

}  // namespace ringrun
