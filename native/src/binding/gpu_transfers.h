#pragma once

#include <napi.h>

#include <memory>
#include <vector>

#include "binding/device_part.h"
#include "gpu/compute_device.h"

namespace ringrun {

// GpuTransfers of native/lib/gpu.ts: copies before and after a run, in its submission.
class GpuTransfers {
 public:
  // Takes the arrays of uploads. Throws a JavaScript error if a part does not fit its memory, or no page-locked memory is left.
  GpuTransfers(const Napi::Value& value, ComputeDevice& device);

  // The arrays of downloads, which must be kept until received() was called.
  Napi::Array targets(Napi::Env env) const;

  // On the thread that adds work.
  void addBefore(const Stream& stream) const;
  void addAfter(const Stream& stream) const;

  // Writes the arrays of downloads, when the work has ended. On any thread.
  void received() const;

 private:
  // A part of the GPU's memory, and the page-locked copy.
  struct HostCopy {
    DevicePart part;
    std::uint8_t* pinned;
    std::size_t bytes;
    void* array;
  };
  struct Move {
    DevicePart from;
    DevicePart to;
    std::size_t bytes;
  };

  void takeUploads(const Napi::Value& list);
  void takeMoves(const Napi::Value& list);
  void takeDownloads(const Napi::Value& list);

  std::shared_ptr<const PinnedMemory> staging_;
  std::size_t used_ = 0;
  std::vector<HostCopy> uploads_;
  std::vector<Move> moves_;
  std::vector<HostCopy> downloads_;
  std::vector<Napi::Value> targets_;  // on the JavaScript thread, in the call that creates this
};

}  // namespace ringrun
