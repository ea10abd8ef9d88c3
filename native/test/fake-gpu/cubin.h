#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

// What the fake NVRTC returns as cubin, and the fake driver loads: a header, the static shared memory of each kernel, and a
// shared library with the compiled kernels. An image has no length of its own in the driver's API, so the header has it.

namespace fake_gpu {

struct CubinHeader {
  char magic[16];
  std::uint32_t architecture;  // 90 of sm_90
  std::uint32_t kernels;
  std::uint64_t libraryBytes;
};

struct CubinKernel {
  char name[120];
  std::uint64_t sharedBytes;
};

constexpr char kCubinMagic[16] = "ringrun cubin 1";

inline std::string cubinOf(unsigned architecture, const std::vector<CubinKernel>& kernels, const std::string& library) {
  CubinHeader header{};
  std::memcpy(header.magic, kCubinMagic, sizeof kCubinMagic);
  header.architecture = architecture;
  header.kernels = static_cast<std::uint32_t>(kernels.size());
  header.libraryBytes = library.size();
  std::string image(reinterpret_cast<const char*>(&header), sizeof header);
  image.append(reinterpret_cast<const char*>(kernels.data()), kernels.size() * sizeof(CubinKernel));
  return image + library;
}

}  // namespace fake_gpu
