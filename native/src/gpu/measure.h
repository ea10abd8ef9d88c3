#pragma once

#include <cstddef>

#include "gpu/device.h"

namespace ringrun {

// Bandwidth of the driver's own copies between page-locked memory and the GPU, in bytes per second: the
// reference for staging.
struct CopyBandwidth {
  double toDevice;
  double toHost;
};

// Blocks the calling thread; allocates `bytes` twice. Throws Failure.
CopyBandwidth measureCopies(const Device& device, std::size_t bytes, int rounds);

}  // namespace ringrun
