#pragma once

#include <cstddef>
#include <vector>

#include "base/deadline.h"

namespace ringrun {

// When parts of a stream of bytes arrived.
class Arrivals {
 public:
  // The sender may send from now on.
  void begin(Clock::time_point at) { parts_ = {{at, 0}}; }

  void add(Clock::time_point at, std::size_t bytes) { parts_.push_back({at, static_cast<double>(bytes)}); }

  // Bytes per second in the later half of the time: the bytes that a link passes at once after a pause, and the slow start of
  // TCP, are in the earlier one. Over a link with a long round trip, the pauses of slow start are not counted. 0 for less than
  // two parts. `sentSeconds`: the sender sent for so long, or longer.
  double rate(double roundTripSeconds, double sentSeconds) const;

 private:
  struct Part {
    Clock::time_point at;
    double bytes;
  };
  std::size_t beginOfLaterHalf() const;
  double wholeBytes() const;

  std::vector<Part> parts_;
};

}  // namespace ringrun
