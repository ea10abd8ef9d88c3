#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

namespace ringrun {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

// Interval at which a waiting rank checks its peers' connections: the maximum delay until it detects a death.
constexpr Milliseconds kLivenessInterval{100};

// The time at which a wait fails, and the timeout that it was computed from (for error messages).
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

  bool passed() const { return Clock::now() >= at_; }

  // Remaining time: at least zero, at most `most`.
  Milliseconds leftWithin(Milliseconds most) const {
    const auto left = std::chrono::ceil<Milliseconds>(at_ - Clock::now());
    return std::clamp(left, Milliseconds{0}, most);
  }

  double timeoutMs() const { return timeoutMs_; }

  // Start of the timeout.
  Clock::time_point since() const { return since_; }

 private:
  Deadline(Clock::time_point since, Clock::time_point at, double timeoutMs)
      : since_(since), at_(at), timeoutMs_(timeoutMs) {}

  Clock::time_point since_;
  Clock::time_point at_;
  double timeoutMs_;
};

}  // namespace ringrun
