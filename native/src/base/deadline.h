#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

namespace ringrun {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

// A waiting rank looks this often at its peers' connections: the longest that a death stays unnoticed.
constexpr Milliseconds kLivenessInterval{100};

// A moment after which waiting is given up, and the patience it came from (for messages).
class Deadline {
 public:
  // `milliseconds` may be infinite or larger than the clock can express.
  static Deadline after(double milliseconds) {
    constexpr double kForever = 1e14;  // 3,000 years fit a 64-bit count of microseconds
    const double bounded = std::isfinite(milliseconds) ? std::min(milliseconds, kForever) : kForever;
    const auto microseconds = std::chrono::microseconds(static_cast<long long>(bounded * 1000));
    const auto now = Clock::now();
    const auto most = std::chrono::duration_cast<std::chrono::microseconds>(Clock::time_point::max() - now);
    return Deadline(now, now + std::min(microseconds, most), milliseconds);
  }

  bool passed() const { return Clock::now() >= at_; }

  // Time left, at least zero, and at most `most`.
  Milliseconds leftWithin(Milliseconds most) const {
    const auto left = std::chrono::ceil<Milliseconds>(at_ - Clock::now());
    return std::clamp(left, Milliseconds{0}, most);
  }

  double patienceMs() const { return patienceMs_; }

  // The moment from which the patience counts.
  Clock::time_point since() const { return since_; }

 private:
  Deadline(Clock::time_point since, Clock::time_point at, double patienceMs)
      : since_(since), at_(at), patienceMs_(patienceMs) {}

  Clock::time_point since_;
  Clock::time_point at_;
  double patienceMs_;
};

}  // namespace ringrun
