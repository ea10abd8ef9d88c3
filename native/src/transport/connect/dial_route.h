#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "base/deadline.h"

namespace ringrun {

// Decides which way the next attempt to connect goes: directly for some time, then once through each relay, then from the
// beginning. Pure.
class DialRoute {
 public:
  // `direct`: time for direct attempts.
  explicit DialRoute(Milliseconds direct) : direct_(direct) {}

  // Begins with the relays, because the direct way is known to be cut.
  void beginWithRelays() { isDirectOver_ = true; }

  // Ends the direct attempts: this host itself refuses them.
  void endDirect() { isDirectOver_ = true; }

  // The relay for the next attempt; no value: directly. `relays`: the candidates, the best first.
  std::optional<int> next(Clock::time_point now, const std::vector<int>& relays) {
    if (!left_.empty()) return takeNext();
    if (isTryingRelays_) {
      isTryingRelays_ = false;
      hasTriedAll_ = true;
      directSince_.reset();
    }
    if (!directSince_) directSince_ = now;
    if (relays.empty() || (!isDirectOver_ && now - *directSince_ < direct_)) return std::nullopt;
    isDirectOver_ = false;
    isTryingRelays_ = true;
    left_.assign(relays.begin(), relays.end());
    return takeNext();
  }

  // True if neither the direct way nor any relay led to the peer.
  bool hasTriedAll() const { return hasTriedAll_; }

 private:
  std::optional<int> takeNext() {
    const int relay = left_.front();
    left_.pop_front();
    return relay;
  }

  Milliseconds direct_;
  std::optional<Clock::time_point> directSince_;  // of the current round
  std::deque<int> left_;                           // relays that this round will try
  bool isDirectOver_ = false;
  bool isTryingRelays_ = false;
  bool hasTriedAll_ = false;
};

}  // namespace ringrun
