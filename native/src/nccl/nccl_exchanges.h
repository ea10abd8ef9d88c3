#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "gpu/exchanges.h"
#include "nccl/communicator.h"

namespace ringrun {

// The collectives of one run of a program, through the communicator of a group. The thread of the device adds them, while the thread
// of the group waits and may abandon the run.
class NcclExchanges : public GpuExchanges {
 public:
  // `communicator` must outlive the run: until it has ended, or end() has returned.
  NcclExchanges(NcclCommunicator& communicator, const Device& device, std::vector<GpuExchange> exchanges);

  void begin(std::size_t place, const Stream& stream) override;
  void join(const Stream& stream) override;
  void requireGoing() const override;

  // Calls `add`, during which abandon() waits: for work that is recorded or repeated, because a communicator must not be aborted
  // while its collectives are being recorded.
  template <typename Add>
  void undisturbed(const Add& add) {
    const Use use(*this);
    isUndisturbed_ = true;
    add();
  }

  // Any thread: no more collectives are added. Waits until the thread of the device has left NCCL, but not forever.
  void abandon() noexcept;

 private:
  // While the thread of the device uses the communicator.
  class Use {
   public:
    explicit Use(NcclExchanges& exchanges) : exchanges_(exchanges) { exchanges_.setInUse(true); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;
    ~Use() { exchanges_.setInUse(false); }

   private:
    NcclExchanges& exchanges_;
  };

  void setInUse(bool isInUse);
  void add(std::size_t place, const Stream& stream);

  NcclCommunicator& communicator_;
  const std::vector<GpuExchange> exchanges_;
  Event computed_;
  Event exchanged_;
  bool hasBegun_ = false;       // of the thread of the device
  bool isUndisturbed_ = false;  // of the thread of the device
  std::atomic<bool> isAbandoned_{false};
  std::mutex mutex_;  // guards isInUse_
  std::condition_variable left_;
  bool isInUse_ = false;
};

}  // namespace ringrun
