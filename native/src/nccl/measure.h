#pragma once

#include <cstddef>

#include "nccl/device.h"

namespace ringrun {

// Bytes per second of the driver's own copies, in one piece, between page-locked memory and the GPU: what staging is
// measured against.
struct CopyBandwidth {
  double toDevice;
  double toHost;
};

// Blocks the calling thread; allocates `bytes` twice. Throws Failure.
CopyBandwidth measureCopies(const Device& device, std::size_t bytes, int rounds);

}  // namespace ringrun
