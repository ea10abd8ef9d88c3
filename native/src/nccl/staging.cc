#include "nccl/staging.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/wait.h"
#include "gpu/memory_pool.h"

namespace ringrun {
namespace {

// One piece being copied in, one in operation, one being copied out.
constexpr std::size_t kSlots = 3;

// Slots grow by doubling, because every allocation stops the GPU.
constexpr std::size_t kLeastSlotBytes = 64 * 1024;

std::size_t roomFor(std::size_t bytes) {
  std::size_t room = kLeastSlotBytes;
  while (room < bytes) room *= 2;
  return room;
}

bool continues(const HostPart& one, const HostPart& next) {
  const bool isBeside = one.host + one.bytes == next.host && one.at + one.bytes == next.at;
  return isBeside && isPinned(one.host, one.bytes + next.bytes);
}

}  // namespace

Staging::Staging(const Device& device, const Watchdog& watchdog, NcclCommunicator& communicator)
    : device_(device), watchdog_(watchdog), communicator_(communicator), in_(device), out_(device) {}

Staging::~Staging() {
  for (const auto& slot : slots_) release(*slot);
}

void Staging::run(const Call& call, std::size_t count, const std::function<Piece(std::size_t index)>& pieceAt) {
  while (slots_.size() < std::min(count, kSlots)) slots_.push_back(std::make_unique<Slot>(device_));
  const std::size_t slots = slots_.size();
  for (std::size_t index = 0; index < count; ++index) {
    Slot& slot = *slots_[index % slots];
    if (index >= slots) finish(call, slot);
    begin(call, slot, pieceAt(index));
  }
  for (std::size_t index = count - std::min(count, slots); index < count; ++index) finish(call, *slots_[index % slots]);
}

// No work of the slot is pending.
void Staging::begin(const Call& call, Slot& slot, const Piece& piece) {
  device_.makeCurrent();
  reserve(slot, piece.bytes);
  copyIn(slot, piece);
  in_.record(slot.arrived);
  communicator_.stream().waitFor(slot.arrived);
  piece.operate(slot.onDevice.data());
  communicator_.settle(call);
  communicator_.stream().record(slot.operated);
  out_.waitFor(slot.operated);
  copyOut(slot, piece);
  out_.record(slot.left);
  out_.notifyWhenDone(watchdog_.notifier());
}

// The parts for the GPU to copy: in page-locked memory, where adjacent parts of one allocation are merged.
std::vector<HostPart> Staging::joined(const Slot& slot, const std::vector<HostPart>& parts) {
  std::vector<HostPart> copies;
  for (HostPart part : parts) {
    if (!isPinned(part.host, part.bytes)) part.host = slot.pinned.data() + part.at;
    if (!copies.empty() && continues(copies.back(), part)) {
      copies.back().bytes += part.bytes;
    } else {
      copies.push_back(part);
    }
  }
  return copies;
}

void Staging::copyIn(const Slot& slot, const Piece& piece) const {
  for (const HostPart& part : piece.in) {
    if (!isPinned(part.host, part.bytes)) std::memcpy(slot.pinned.data() + part.at, part.host, part.bytes);
  }
  for (const HostPart& copy : joined(slot, piece.in)) in_.copyToDevice(slot.onDevice.data() + copy.at, copy.host, copy.bytes);
}

void Staging::copyOut(Slot& slot, const Piece& piece) const {
  slot.toCopyOut.clear();
  for (const HostPart& part : piece.out) {
    if (!isPinned(part.host, part.bytes)) slot.toCopyOut.push_back(part);
  }
  for (const HostPart& copy : joined(slot, piece.out)) out_.copyToHost(copy.host, slot.onDevice.data() + copy.at, copy.bytes);
}

void Staging::finish(const Call& call, Slot& slot) {
  watchdog_.waitUntil(call, [&] { return communicator_.isSettled() && slot.left.hasPassed(); }, kLivenessInterval);
  device_.makeCurrent();
  for (const HostPart& part : slot.toCopyOut) std::memcpy(part.host, slot.pinned.data() + part.at, part.bytes);
  slot.toCopyOut.clear();
}

void Staging::reserve(Slot& slot, std::size_t bytes) const {
  if (slot.onDevice.bytes() >= bytes && slot.pinned.bytes() >= bytes) return;
  const std::size_t room = roomFor(bytes);
  release(slot);
  slot.onDevice = acquireMemory<DeviceMemory>(device_, room);
  slot.pinned = acquireMemory<PinnedMemory>(device_, room);
}

void Staging::release(Slot& slot) const {
  MemoryPool<DeviceMemory>::ofProcess().release(device_, std::exchange(slot.onDevice, {}));
  MemoryPool<PinnedMemory>::ofProcess().release(device_, std::exchange(slot.pinned, {}));
}

void Staging::awaitIdle(Milliseconds timeout) noexcept {
  const Deadline deadline = Deadline::after(static_cast<double>(timeout.count()));
  // After all other work, because a piece that failed midway recorded no event at its end.
  if (!slots_.empty()) {
    static_cast<void>(failureOf([&] {
      device_.makeCurrent();
      in_.record(slots_.front()->arrived);
      out_.record(slots_.front()->left);
    }));
  }
  const auto isQuiet = [&] {
    return std::all_of(slots_.begin(), slots_.end(), [](const auto& slot) {
      bool passed = true;
      // An error also ends the wait: nothing runs in a broken context.
      static_cast<void>(failureOf([&] { passed = slot->arrived.hasPassed() && slot->left.hasPassed(); }));
      return passed;
    });
  };
  while (!isQuiet()) {
    if (deadline.passed()) {
      for (const auto& slot : slots_) {
        slot->onDevice.leak();
        slot->pinned.leak();
      }
      return;
    }
    pollSockets(nullptr, 0, Milliseconds{1});
  }
}

}  // namespace ringrun
