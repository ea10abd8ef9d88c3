#include <algorithm>
#include <condition_variable>
#include <future>
#include <mutex>
#include <optional>
#include <utility>

#include "collectives/agree_on_lengths.h"
#include "nccl/nccl_collectives.h"
#include "nccl/nccl_exchanges.h"
#include "nccl/step_agreement.h"

namespace ringrun {
namespace {

// After NCCL was aborted, the rest of a run takes no longer than that.
constexpr Milliseconds kEndPatience{3000};

// How a run has ended, for the thread of the group.
class RunEnd {
 public:
  explicit RunEnd(std::shared_ptr<const Notifier> notifier) : notifier_(std::move(notifier)) {}

  void set(const std::optional<Failure>& failure) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      failure_ = failure;
      hasEnded_ = true;
    }
    ended_.notify_all();
    notifier_->notify();
  }

  // Throws the failure of the run.
  bool hasEnded() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (failure_) throw Failure(*failure_);
    return hasEnded_;
  }

  // Blocks until the run has ended, but not forever.
  void await(Milliseconds timeout) {
    std::unique_lock<std::mutex> lock(mutex_);
    ended_.wait_for(lock, timeout, [this] { return hasEnded_; });
  }

 private:
  const std::shared_ptr<const Notifier> notifier_;
  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable ended_;
  std::optional<Failure> failure_;
  bool hasEnded_ = false;
};

}  // namespace

GpuProgram::Step NcclCollectives::agreeOnStep(const Call& call, const ProgramRun& run) {
  GpuProgram::Step step;
  step.number = call.fingerprint.sequence;
  step.owner = owner_;
  for (const GpuExchange& one : run.exchanges) {
    step.buffers.push_back(const_cast<std::uint8_t*>(one.send));
    step.buffers.push_back(one.receive);
    step.buffers.push_back(reinterpret_cast<std::uint8_t*>(one.count));
  }
  const std::vector<Row> rows = gatherRows(*cpu_, call, rowOf(run.program->offer(run.slots, step), run.exchanges));
  checkStep(call.fingerprint, rows);
  step.way = wayOf(rows);
  return step;
}

void NcclCollectives::runProgram(const Call& call, const ProgramRun& run) {
  const GpuProgram::Step agreed = agreeOnStep(call, run);
  if (agreed.way == GpuProgram::Way::Record) {
    const auto isThis = [&](const Recorded& one) { return one.program.lock() == run.program; };
    if (std::none_of(recorded_.begin(), recorded_.end(), isThis)) recorded_.push_back({run.device, run.program});
  }
  onGpu([&] {
    const auto exchanges = std::make_shared<NcclExchanges>(communicator_, device_, run.exchanges);
    const auto end = std::make_shared<RunEnd>(watchdog_.notifier());
    const auto add = [run, agreed, exchanges](const Stream& stream) {
      GpuProgram::Step step = agreed;
      step.exchanges = exchanges.get();
      exchanges->requireGoing();
      if (step.way == GpuProgram::Way::Direct) run.program->runStep(run.slots, step, stream);
      else exchanges->undisturbed([&] { run.program->runStep(run.slots, step, stream); });
      if (run.ended) run.ended();
    };
    run.device->submit(add, [run, end, exchanges](const std::optional<Failure>& failure) { end->set(failure); });
    // Asks NCCL at every wake-up, because it may have detected an error while the run goes on.
    const auto isDone = [&] {
      const bool isSettled = communicator_.isSettled();
      return end->hasEnded() && isSettled;
    };
    const std::optional<Failure> failure = failureOf([&] { watchdog_.waitUntil(call, isDone, kLivenessInterval); });
    if (!failure) return;
    exchanges->abandon();
    abandonGpuWork();
    end->await(kEndPatience);
    throw Failure(*failure);
  });
}

// NCCL frees a communicator only when no graph has its collectives.
void NcclCollectives::forgetRecords(bool waits) noexcept {
  for (const Recorded& one : std::exchange(recorded_, {})) {
    const std::shared_ptr<ComputeDevice> device = one.device.lock();
    const std::shared_ptr<GpuProgram> program = one.program.lock();
    if (device == nullptr || program == nullptr) continue;
    const auto forgotten = std::make_shared<std::promise<void>>();
    const auto forget = [program, owner = owner_](const Stream&) { program->forgetRecordsOf(owner); };
    const std::optional<Failure> failure =
        failureOf([&] { device->submit(forget, [forgotten](const std::optional<Failure>&) { forgotten->set_value(); }); });
    // Not forever: the device may be busy with a step of another group, whose failure this thread would detect.
    if (waits && !failure) forgotten->get_future().wait_for(kEndPatience);
  }
}

}  // namespace ringrun
