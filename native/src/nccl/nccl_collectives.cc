#include "nccl/nccl_collectives.h"

#include <atomic>
#include <cstring>
#include <utility>

#include "collectives/lengths.h"
#include "collectives/tcp/agree.h"
#include "collectives/tcp/team_operation.h"
#include "nccl/pieces.h"
#include "gpu/memory_pool.h"

namespace ringrun {
namespace {

// Timeout for copies that end by themselves after the communicator is aborted.
constexpr Milliseconds kQuietPatience{1000};

constexpr std::size_t kLeastScratchBytes = 64 * 1024;

std::uint64_t nextOwner() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace

NcclCollectives::NcclCollectives(std::unique_ptr<Collectives> cpu, Connections& connections, const Device& device,
                                 const NcclUniqueId& id, const Call& call)
    : cpu_(std::move(cpu)),
      connections_(connections),
      rank_(connections.rank()),
      size_(connections.size()),
      device_(device),
      watchdog_(connections),
      communicator_(device, watchdog_, id, rank_, size_, call),
      staging_((device.makeCurrent(), device), watchdog_, communicator_),
      done_(device),
      owner_(nextOwner()) {}

NcclCollectives::~NcclCollectives() {
  if (!hasLeft_) abandonGpuWork();
  MemoryPool<DeviceMemory>::ofProcess().release(device_, std::exchange(scratch_, {}));
}

// Aborts first: this ends GPU work that waits for peers, and then all work queued after it.
void NcclCollectives::abandonGpuWork() noexcept {
  forgetRecords(false);
  const bool ended = communicator_.abort();
  if (!isGpuIdle_) staging_.awaitIdle(ended ? kQuietPatience : Milliseconds{0});
  if (!ended) scratch_.leak();
  isGpuIdle_ = true;
}

void NcclCollectives::onGpu(const std::function<void()>& run) {
  isGpuIdle_ = false;
  const std::optional<Failure> failure = failureOf([&] {
    device_.makeCurrent();
    run();
  });
  if (failure) {
    abandonGpuWork();
    throw Failure(*failure);
  }
  isGpuIdle_ = true;
}

// Waits until the GPU has completed all work of the stream.
void NcclCollectives::awaitStream(const Call& call) {
  communicator_.settle(call);
  communicator_.stream().record(done_);
  communicator_.stream().notifyWhenDone(watchdog_.notifier());
  watchdog_.waitUntil(call, [this] { return communicator_.isSettled() && done_.hasPassed(); }, kLivenessInterval);
  device_.makeCurrent();
}

// Runs an operation in place on one array of equal length on all ranks.
void NcclCollectives::inPlace(const Call& call, void* data, bool goesIn, bool comesOut,
                              const std::function<void(void* data, std::size_t count)>& operate) {
  const Block whole{data, call.fingerprint.count};
  if (whole.count == 0) return;
  onGpu([&] {
    if (isOnDevice(call)) {
      operate(data, static_cast<std::size_t>(whole.count));
      awaitStream(call);
      return;
    }
    const DType dtype = call.fingerprint.dtype;
    const std::size_t most = pieceElements(dtype, 1);
    staging_.run(call, segmentsIn(static_cast<std::size_t>(whole.count), most), [&](std::size_t index) {
      Piece piece;
      PieceBuilder builder(piece, dtype);
      const Range range = inPiece(whole, most, index);
      piece.bytes = range.length() * bytesPerElement(dtype);
      if (goesIn) builder.addInputAt(0, whole, range);
      if (comesOut) builder.addOutputAt(0, whole, range);
      piece.operate = [&operate, range](std::uint8_t* onDevice) { operate(onDevice, range.length()); };
      return piece;
    });
  });
}

void NcclCollectives::allReduce(const Call& call, void* data) {
  if (!hasNcclReduceOp(call.fingerprint.reduceOp)) return cpu_->allReduce(call, data);
  cpu_->barrier(call);
  inPlace(call, data, true, true, [&](void* piece, std::size_t count) { communicator_.allReduce(call, piece, count); });
}

void NcclCollectives::reduce(const Call& call, void* data) {
  if (!hasNcclReduceOp(call.fingerprint.reduceOp)) return cpu_->reduce(call, data);
  cpu_->barrier(call);
  const bool isRoot = static_cast<int>(call.fingerprint.root) == rank_;
  inPlace(call, data, true, isRoot, [&](void* piece, std::size_t count) { communicator_.reduce(call, piece, count); });
}

void NcclCollectives::broadcast(const Call& call, void* data) {
  cpu_->barrier(call);
  const bool isRoot = static_cast<int>(call.fingerprint.root) == rank_;
  inPlace(call, data, isRoot, !isRoot, [&](void* piece, std::size_t count) { communicator_.broadcast(call, piece, count); });
}

// Also waits for the GPU work issued before it on all ranks.
void NcclCollectives::barrier(const Call& call) {
  cpu_->barrier(call);
  if (call.fingerprint.op == Op::NewGroup) return;
  if (call.fingerprint.op == Op::Destroy) {
    forgetRecords(true);
    communicator_.leave(call);
    hasLeft_ = true;
    return;
  }
  Fingerprint one = call.fingerprint;
  one.dtype = DType::UInt8;
  one.reduceOp = ReduceOp::Sum;
  const Call touch{one, call.deadline, call.cancelled, call.reports};
  onGpu([&] {
    std::uint8_t* const byte = scratch(1);
    communicator_.stream().clear(byte, 1);
    communicator_.allReduce(touch, byte, 1);
    awaitStream(call);
  });
}

Allocation NcclCollectives::allocate(const Call& call) {
  cpu_->barrier(call);
  device_.makeCurrent();
  const std::size_t bytes = std::max<std::size_t>(call.fingerprint.bytes(), 1);
  auto memory = std::make_shared<const PinnedMemory>(device_, bytes);
  return {memory->data(), memory};
}

void NcclCollectives::copyToDevice(const Call& call, const void* host, void* onDevice) {
  copy(call, const_cast<void*>(host), onDevice, true);
}

void NcclCollectives::copyToHost(const Call& call, const void* onDevice, void* host) {
  copy(call, host, const_cast<void*>(onDevice), false);
}

void NcclCollectives::copy(const Call& call, void* host, void* onDevice, bool toDevice) {
  const Block whole{host, call.fingerprint.count};
  const DType dtype = call.fingerprint.dtype;
  const std::size_t most = pieceElements(dtype, 1);
  onGpu([&] {
    staging_.run(call, segmentsIn(static_cast<std::size_t>(whole.count), most), [&](std::size_t index) {
      Piece piece;
      PieceBuilder builder(piece, dtype);
      const Range range = inPiece(whole, most, index);
      const std::size_t bytes = range.length() * bytesPerElement(dtype);
      std::uint8_t* const there = static_cast<std::uint8_t*>(onDevice) + range.begin * bytesPerElement(dtype);
      if (toDevice) builder.addInputAt(0, whole, range);
      if (!toDevice) builder.addOutputAt(0, whole, range);
      piece.operate = [this, there, bytes, toDevice](std::uint8_t* staged) {
        communicator_.stream().copyOnDevice(toDevice ? there : staged, toDevice ? staged : there, bytes);
      };
      return piece;
    });
  });
}

void NcclCollectives::send(const Call& call, const void* data, int to) {
  agreeWith(call, to, rank_);
  if (call.fingerprint.count == 0) return;
  onGpu([&] {
    communicator_.send(call, data, static_cast<std::size_t>(call.fingerprint.count), to);
    awaitStream(call);
  });
}

void NcclCollectives::receive(const Call& call, void* data, int from) {
  agreeWith(call, from, from);
  if (call.fingerprint.count == 0) return;
  onGpu([&] {
    communicator_.receive(call, data, static_cast<std::size_t>(call.fingerprint.count), from);
    awaitStream(call);
  });
}

// Both ranks agree on one fingerprint, that of the sender.
void NcclCollectives::agreeWith(const Call& call, int peer, int sender) {
  Fingerprint shared = call.fingerprint;
  shared.op = Op::Send;
  shared.root = static_cast<std::uint32_t>(sender);
  const Call agreement{shared, call.deadline, call.cancelled, call.reports};
  const Team pair{std::min(rank_, peer), std::max(rank_, peer)};
  TeamOperation team(connections_.messenger(), agreement, pair, agreementScratch_);
  agree(team);
}

void NcclCollectives::waitForStream(CuStream other) {
  const Cuda& cuda = Cuda::ofProcess();
  device_.makeCurrent();
  const Event passed(device_);
  cuda.call(cuda.eventRecord, "a stream of the caller", passed.handle(), other);
  stream().waitFor(passed);
}

void NcclCollectives::makeStreamWait(CuStream other) {
  const Cuda& cuda = Cuda::ofProcess();
  device_.makeCurrent();
  const Event passed(device_);
  stream().record(passed);
  cuda.call(cuda.streamWaitEvent, "a stream of the caller", other, passed.handle(), 0u);
}

std::uint8_t* NcclCollectives::scratch(std::size_t bytes) {
  if (scratch_.bytes() < bytes) {
    MemoryPool<DeviceMemory>::ofProcess().release(device_, std::exchange(scratch_, {}));
    scratch_ = acquireMemory<DeviceMemory>(device_, std::max(bytes, kLeastScratchBytes));
  }
  return scratch_.data();
}

}  // namespace ringrun
