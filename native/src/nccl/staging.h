#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "nccl/communicator.h"
#include "gpu/memory.h"
#include "gpu/stream.h"
#include "nccl/watchdog.h"

namespace ringrun {

// Bytes of a host array, and their offset in a piece's memory on the GPU.
struct HostPart {
  std::uint8_t* host;
  std::size_t bytes;
  std::size_t at;
};

// One unit of GPU work: bytes in, operations on them, bytes out.
struct Piece {
  std::size_t bytes = 0;  // of GPU memory
  std::vector<HostPart> in;
  std::function<void(std::uint8_t* data)> operate;
  std::vector<HostPart> out;
};

// Processes host arrays on the GPU in overlapping pieces: while one is reduced, the next is copied in and the
// previous one out. Three streams: in, the communicator's, out; events order the work of each piece.
//
//   time   →
//   in     piece 0   piece 1   piece 2
//   NCCL             piece 0   piece 1   piece 2
//   out                        piece 0   piece 1   piece 2
//
// GPUs copy asynchronously only from and to page-locked memory. This thread copies other arrays to and from
// such memory; arrays in PinnedMemory need no copy. Adjacent bytes in it take one GPU copy, even for
// several arrays.
class Staging {
 public:
  // All arguments must outlive this object. The device must be current.
  Staging(const Device& device, const Watchdog& watchdog, NcclCommunicator& communicator);

  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();

  // Runs pieces 0 … count − 1 in order. Throws Failure; host arrays are then no longer written once the
  // communicator is aborted and awaitIdle() has returned.
  void run(const Call& call, std::size_t count, const std::function<Piece(std::size_t index)>& pieceAt);

  // After a failure: waits for pending copies, for at most `timeout`. If they do not end, their memory is never
  // freed.
  void awaitIdle(Milliseconds timeout) noexcept;

 private:
  // The memory and events of one pending piece.
  struct Slot {
    explicit Slot(const Device& device) : arrived(device), operated(device), left(device) {}

    DeviceMemory onDevice;
    PinnedMemory pinned;
    Event arrived;
    Event operated;
    Event left;
    std::vector<HostPart> toCopyOut;  // from pinned memory, after `left` has passed
  };

  void begin(const Call& call, Slot& slot, const Piece& piece);
  static std::vector<HostPart> joined(const Slot& slot, const std::vector<HostPart>& parts);
  void copyIn(const Slot& slot, const Piece& piece) const;
  void copyOut(Slot& slot, const Piece& piece) const;
  void finish(const Call& call, Slot& slot);
  void reserve(Slot& slot, std::size_t bytes) const;
  void release(Slot& slot) const;

  const Device& device_;
  const Watchdog& watchdog_;
  NcclCommunicator& communicator_;
  Stream in_;
  Stream out_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace ringrun
