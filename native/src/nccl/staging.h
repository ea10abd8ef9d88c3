#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "nccl/communicator.h"
#include "nccl/memory.h"
#include "nccl/stream.h"
#include "nccl/watch.h"

namespace ringrun {

// Bytes of a host array, and where they lie in a piece's memory on the GPU.
struct HostPart {
  std::uint8_t* host;
  std::size_t bytes;
  std::size_t at;
};

// What goes to the GPU together: bytes in, operations over them, bytes out.
struct Piece {
  std::size_t bytes = 0;  // of memory on the GPU
  std::vector<HostPart> in;
  std::function<void(std::uint8_t* data)> operate;
  std::vector<HostPart> out;
};

// Takes host arrays through the GPU in pieces that overlap: while one is reduced, the next is on its way there, and the
// one before on its way back. Three streams: in, the communicator's, out; events order what belongs to one piece.
//
//   time   →
//   in     piece 0   piece 1   piece 2
//   NCCL             piece 0   piece 1   piece 2
//   out                        piece 0   piece 1   piece 2
//
// GPUs copy by themselves only from page-locked memory: other arrays are copied into some first, by this thread, and back
// out of it; what lies there already (PinnedMemory) is not. What lies there side by side is one copy of the GPU, of however
// many arrays.
class Staging {
 public:
  // All of them outlive it. The device is current.
  Staging(const Device& device, const Watch& watch, NcclCommunicator& communicator);

  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();

  // Pieces 0 … count − 1, in order. Throws Failure; then host arrays are left alone, once the communicator is aborted and
  // awaitQuiet() has returned.
  void carryOut(const Call& call, std::size_t count, const std::function<Piece(std::size_t index)>& pieceAt);

  // After a failure: waits for copies that are under way, for `timeout` at most. Where they do not end, the memory is
  // never freed.
  void awaitQuiet(Milliseconds timeout) noexcept;

 private:
  // The memory and the events of one piece under way.
  struct Slot {
    explicit Slot(const Device& device) : arrived(device), operated(device), left(device) {}

    DeviceMemory onDevice;
    PinnedMemory pinned;
    Event arrived;
    Event operated;
    Event left;
    std::vector<HostPart> toCopyOut;  // from pinned memory, once it has left
  };

  void begin(const Call& call, Slot& slot, const Piece& piece);
  static std::vector<HostPart> joined(const Slot& slot, const std::vector<HostPart>& parts);
  void copyIn(const Slot& slot, const Piece& piece) const;
  void copyOut(Slot& slot, const Piece& piece) const;
  void finish(const Call& call, Slot& slot);
  void makeRoom(Slot& slot, std::size_t bytes) const;
  void release(Slot& slot) const;

  const Device& device_;
  const Watch& watch_;
  NcclCommunicator& communicator_;
  Stream in_;
  Stream out_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace ringrun
