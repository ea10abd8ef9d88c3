#include "nccl/nccl_exchanges.h"

#include <thread>
#include <utility>

#include "base/deadline.h"

namespace ringrun {
namespace {

// NCCL's calls return at once. If one does not, the driver is stuck.
constexpr Milliseconds kAbandonPatience{3000};

// Between questions whether a call has been carried out, which is rarely not the case after the first steps.
constexpr std::chrono::microseconds kSettleInterval{20};

}  // namespace

NcclExchanges::NcclExchanges(NcclCommunicator& communicator, const Device& device, std::vector<GpuExchange> exchanges)
    : communicator_(communicator), exchanges_(std::move(exchanges)), computed_(device), exchanged_(device) {}

void NcclExchanges::begin(std::size_t place, const Stream& stream) {
  if (isUndisturbed_) return add(place, stream);
  const Use use(*this);
  add(place, stream);
}

void NcclExchanges::add(std::size_t place, const Stream& stream) {
  bool isFirst = true;
  for (const GpuExchange& one : exchanges_) {
    if (one.place != place) continue;
    if (std::exchange(isFirst, false)) {
      stream.record(computed_);
      communicator_.stream().waitFor(computed_);
    }
    requireGoing();
    communicator_.exchange(one);
    while (!communicator_.isSettled()) {
      requireGoing();
      std::this_thread::sleep_for(kSettleInterval);
    }
  }
  hasBegun_ = hasBegun_ || !isFirst;
}

void NcclExchanges::join(const Stream& stream) {
  if (!std::exchange(hasBegun_, false)) return;
  communicator_.stream().record(exchanged_);
  stream.waitFor(exchanged_);
}

void NcclExchanges::requireGoing() const {
  if (isAbandoned_.load()) throw Failure(FailureCode::Closed, {}, "the group has ended this step");
}

void NcclExchanges::abandon() noexcept {
  isAbandoned_.store(true);
  std::unique_lock<std::mutex> lock(mutex_);
  left_.wait_for(lock, kAbandonPatience, [this] { return !isInUse_; });
}

void NcclExchanges::setInUse(bool isInUse) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    isInUse_ = isInUse;
  }
  left_.notify_all();
}

}  // namespace ringrun
