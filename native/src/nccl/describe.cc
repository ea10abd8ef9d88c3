#include "nccl/describe.h"

#include <cstdio>

#include "gpu/cuda.h"
#include "nccl/nccl.h"

namespace ringrun {
namespace {

constexpr int kMaxText = 256;

// "GPU-8f1c2d3e-4455-6677-8899-aabbccddeeff"
std::string textOf(const CuUuid& uuid) {
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += digits;
  }
  return text;
}

DeviceDescription describeDevice(const Cuda& cuda, int index) {
  const std::string about = "GPU " + std::to_string(index);
  CuDevice device = 0;
  char name[kMaxText] = "";
  char bus[kMaxText] = "";
  CuUuid uuid{};
  std::size_t bytes = 0;
  cuda.call(cuda.deviceGet, about, &device, index);
  cuda.call(cuda.deviceGetName, about, name, kMaxText, device);
  cuda.call(cuda.deviceGetUuid, about, &uuid, device);
  cuda.call(cuda.deviceGetPciBusId, about, bus, kMaxText, device);
  cuda.call(cuda.deviceTotalMem, about, &bytes, device);
  return {index, name, textOf(uuid), bus, bytes};
}

}  // namespace

NcclDescription describeNccl() {
  const Cuda& cuda = Cuda::ofProcess();
  const Nccl& nccl = Nccl::ofProcess();
  NcclDescription description;
  description.cuda = describeDriver(cuda.problem());
  description.nccl = {nccl.library.path(), nccl.version() > 0 ? describeNcclVersion(nccl.version()) : "", nccl.problem(),
                      nccl.library.attempts()};
  if (!cuda.problem().empty()) return description;
  int count = 0;
  cuda.call(cuda.deviceGetCount, "GPUs of this process", &count);
  for (int index = 0; index < count; ++index) description.devices.push_back(describeDevice(cuda, index));
  return description;
}

}  // namespace ringrun
