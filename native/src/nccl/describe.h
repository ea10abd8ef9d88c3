#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/describe.h"

namespace ringrun {

// A GPU visible to this process (CUDA_VISIBLE_DEVICES).
struct DeviceDescription {
  int index;
  std::string name;
  std::string uuid;      // "GPU-" and 32 hexadecimal digits in groups, as nvidia-smi -L
  std::string pciBusId;  // "00000000:3b:00.0"
  std::uint64_t memoryBytes;
};

struct NcclDescription {
  LibraryDescription cuda;
  LibraryDescription nccl;
  std::vector<DeviceDescription> devices;
};

// The libraries and GPUs that a group of the backend nccl finds on this machine. Opens both libraries;
// allocates nothing on a GPU.
NcclDescription describeNccl();

}  // namespace ringrun
