#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace ringrun {

// Measured or given links between the hosts of a group. Empty: nothing is known.
struct HostLinks {
  int hosts = 0;
  std::vector<double> delay;      // seconds from host a to host b, at a × hosts + b
  std::vector<double> bandwidth;  // bytes per second; 0: unknown

  // Of a message that host `via` forwards, in the slower direction: connections are used in both. No value if unknown.
  std::optional<std::chrono::microseconds> timeThrough(int via, int a, int b) const {
    if (hosts == 0) return std::nullopt;
    constexpr double kMessageBytes = 1024 * 1024;
    const auto at = [&](int from, int to) { return static_cast<std::size_t>(from) * static_cast<std::size_t>(hosts) + static_cast<std::size_t>(to); };
    const double rate = std::min({bandwidth[at(a, via)], bandwidth[at(via, b)], bandwidth[at(b, via)], bandwidth[at(via, a)]});
    if (rate <= 0) return std::nullopt;
    const double delays = std::max(delay[at(a, via)] + delay[at(via, b)], delay[at(b, via)] + delay[at(via, a)]);
    return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::duration<double>(delays + kMessageBytes / rate));
  }
};

}  // namespace ringrun
