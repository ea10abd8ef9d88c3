#include "nccl/communicator.h"

#include <utility>

#include "base/run_with_timeout.h"

namespace ringrun {
namespace {

// Polling interval for calls that continue in the background, because NCCL offers no way to wait for them.
constexpr Milliseconds kSettleInterval{1};

// For calls without their own deadline. NCCL's abort joins threads that check its flag every few
// milliseconds; if it has not returned by then, a driver or a network is stuck.
constexpr Milliseconds kAbortPatience{3000};
constexpr Milliseconds kLeavePatience{5000};

int rootOf(const Call& call) { return static_cast<int>(call.fingerprint.root); }
NcclDType dtypeOf(const Call& call) { return ncclDTypeOf(call.fingerprint.dtype); }
NcclReduceOp reduceOpOf(const Call& call) { return ncclReduceOpOf(call.fingerprint.reduceOp); }
std::string about(const Call& call) { return describe(call.fingerprint); }

}  // namespace

NcclCommunicator::NcclCommunicator(const Device& device, const Watchdog& watchdog, const NcclUniqueId& id, int rank, int size,
                                   const Call& call)
    : device_(device), watchdog_(watchdog), stream_((device.makeCurrent(), device)) {
  const Nccl& nccl = Nccl::ofProcess();
  NcclConfig config;
  const std::string who = "rank " + std::to_string(rank) + " of " + std::to_string(size) + " on " + device.name();
  nccl.call(nccl.commInitRankConfig, who, &comm_, size, id, rank, &config);
  const std::optional<Failure> failure = failureOf([&] { settle(call); });
  if (!failure) return;
  abort();
  throw Failure(*failure);
}

NcclCommunicator::~NcclCommunicator() { abort(); }

void NcclCommunicator::allReduce(const Call& call, void* data, std::size_t count) {
  const Nccl& nccl = Nccl::ofProcess();
  nccl.call(nccl.allReduce, about(call), data, data, count, dtypeOf(call), reduceOpOf(call), comm_, stream_.handle());
}

void NcclCommunicator::broadcast(const Call& call, void* data, std::size_t count) {
  const Nccl& nccl = Nccl::ofProcess();
  nccl.call(nccl.broadcast, about(call), data, data, count, dtypeOf(call), rootOf(call), comm_, stream_.handle());
}

void NcclCommunicator::reduce(const Call& call, void* data, std::size_t count) { reduceTo(call, data, data, count, rootOf(call)); }

void NcclCommunicator::reduceTo(const Call& call, const void* from, void* into, std::size_t count, int root) {
  const Nccl& nccl = Nccl::ofProcess();
  nccl.call(nccl.reduce, about(call), from, into, count, dtypeOf(call), reduceOpOf(call), root, comm_, stream_.handle());
}

void NcclCommunicator::allGather(const Call& call, const void* own, void* all, std::size_t count) {
  const Nccl& nccl = Nccl::ofProcess();
  nccl.call(nccl.allGather, about(call), own, all, count, dtypeOf(call), comm_, stream_.handle());
}

void NcclCommunicator::reduceScatter(const Call& call, const void* all, void* own, std::size_t count) {
  const Nccl& nccl = Nccl::ofProcess();
  nccl.call(nccl.reduceScatter, about(call), all, own, count, dtypeOf(call), reduceOpOf(call), comm_, stream_.handle());
}

void NcclCommunicator::send(const Call& call, const void* data, std::size_t count, int to) {
  const Nccl& nccl = Nccl::ofProcess();
  nccl.call(nccl.send, about(call), data, count, dtypeOf(call), to, comm_, stream_.handle());
}

void NcclCommunicator::receive(const Call& call, void* data, std::size_t count, int from) {
  const Nccl& nccl = Nccl::ofProcess();
  nccl.call(nccl.receive, about(call), data, count, dtypeOf(call), from, comm_, stream_.handle());
}

void NcclCommunicator::exchange(const GpuExchange& exchange) {
  const Nccl& nccl = Nccl::ofProcess();
  const NcclDType dtype = ncclDTypeOf(DType::Float32);
  const std::string what = withThousandsSeparated(exchange.count) + " numbers of a program";
  if (exchange.kind == GpuExchange::Kind::Gather) {
    nccl.call(nccl.allGather, what, static_cast<const void*>(exchange.send), static_cast<void*>(exchange.receive), exchange.count, dtype, comm_,
              stream_.handle());
    return;
  }
  const NcclReduceOp op = ncclReduceOpOf(exchange.kind == GpuExchange::Kind::Sum ? ReduceOp::Sum : ReduceOp::Avg);
  nccl.call(nccl.allReduce, what, static_cast<const void*>(exchange.send), static_cast<void*>(exchange.receive), exchange.count, dtype, op, comm_,
            stream_.handle());
}

void NcclCommunicator::beginGroup() const {
  const Nccl& nccl = Nccl::ofProcess();
  nccl.call(nccl.groupStart, "fusing operations");
}

void NcclCommunicator::endGroup() const {
  const Nccl& nccl = Nccl::ofProcess();
  nccl.call(nccl.groupEnd, "launching fused operations");
}

void NcclCommunicator::settle(const Call& call) {
  watchdog_.waitUntil(call, [this] { return isSettled(); }, kSettleInterval);
  device_.makeCurrent();
}

bool NcclCommunicator::isSettled() const {
  const Nccl& nccl = Nccl::ofProcess();
  NcclResult state = kNcclSuccess;
  nccl.call(nccl.commGetAsyncError, device_.name(), comm_, &state);
  if (state == kNcclSuccess || state == kNcclInProgress) return state == kNcclSuccess;
  throw Failure(FailureCode::System, {}, "NCCL reports an error of its communicator: " + nccl.describe(state));
}

bool NcclCommunicator::abort() noexcept {
  if (comm_ == nullptr) return true;
  const NcclComm comm = std::exchange(comm_, nullptr);
  bool ended = false;
  const std::optional<Failure> failure = failureOf([&] {
    ended = runWithTimeout(kAbortPatience, [comm, &device = device_] {
      if (!failureOf([&] { device.makeCurrent(); })) Nccl::ofProcess().commAbort(comm);
    });
  });
  return ended && !failure;
}

// Finalizing is a collective that flushes all operations; destroying frees the rest (NCCL's user guide,
// "Destroying a communicator").
void NcclCommunicator::leave(const Call& call) noexcept {
  if (comm_ == nullptr) return;
  const Nccl& nccl = Nccl::ofProcess();
  const Call leaving{call.fingerprint, Deadline::after(static_cast<double>(kLeavePatience.count())), call.cancelled, call.reports};
  const std::optional<Failure> failure = failureOf([&] {
    device_.makeCurrent();
    nccl.call(nccl.commFinalize, device_.name(), comm_);
    settle(leaving);
  });
  if (failure) {
    abort();
    return;
  }
  const NcclComm comm = std::exchange(comm_, nullptr);
  static_cast<void>(failureOf([&] {
    runWithTimeout(kLeavePatience, [comm, &device = device_] {
      if (!failureOf([&] { device.makeCurrent(); })) Nccl::ofProcess().commDestroy(comm);
    });
  }));
}

}  // namespace ringrun
