#pragma once

#include <cstdint>
#include <optional>

#include "base/deadline.h"
#include "transport/connect/endpoint.h"

namespace ringrun {

// Decides if the other side of a connection is silent. The kernel does so too (endWhenUnanswered), but counts only segments
// that have left this host: a firewall on this host that drops them makes it wait for ever. Pure.
class SilenceWatch {
 public:
  // True if nothing sent was acknowledged for `silence`, or if nothing arrived for so long that keep-alive probes must have
  // been lost.
  bool isSilent(const Delivery& delivery, Milliseconds silence, Clock::time_point now);

 private:
  std::uint64_t acknowledged_ = 0;
  std::optional<Clock::time_point> pendingSince_;
};

}  // namespace ringrun
