#include "transport/connect/silence.h"

#include <algorithm>

namespace ringrun {
namespace {

// The kernel counts probes in whole seconds, so that two of them take longer than a short silence.
constexpr Milliseconds kProbeGrace{2000};

}  // namespace

bool SilenceWatch::isSilent(const Delivery& delivery, Milliseconds silence, Clock::time_point now) {
  if (!delivery.isPending || delivery.acknowledged != acknowledged_) pendingSince_.reset();
  acknowledged_ = delivery.acknowledged;
  if (delivery.isPending && !pendingSince_) pendingSince_ = now;
  const bool isUnanswered = pendingSince_ && now - *pendingSince_ >= silence;
  return isUnanswered || delivery.sinceReceived >= silence + kProbeGrace;
}

}  // namespace ringrun
