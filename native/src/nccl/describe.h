#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nccl/dynamic_library.h"

namespace ringrun {

// A GPU as CUDA_VISIBLE_DEVICES lets this process see it.
struct DeviceDescription {
  int index;
  std::string name;
  std::string uuid;      // "GPU-" and 32 hexadecimal digits in groups, as nvidia-smi -L
  std::string pciBusId;  // "00000000:3b:00.0"
  std::uint64_t memoryBytes;
};

struct LibraryDescription {
  std::string path;     // where it was loaded from; empty when it was not
  std::string version;  // "12.4", "2.21.5"; empty when unknown
  std::string problem;  // why it cannot be used; empty when it can
  std::vector<Attempt> attempts;
};

struct NcclDescription {
  LibraryDescription cuda;
  LibraryDescription nccl;
  std::vector<DeviceDescription> devices;
};

// What a group of the backend nccl would find on this machine. Opens both libraries; creates nothing on a GPU.
NcclDescription describeNccl();

}  // namespace ringrun
