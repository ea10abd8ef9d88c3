#pragma once

#include <string>
#include <vector>

namespace fake_nvrtc {

struct Compiled {
  bool succeeded;
  std::string log;
  std::string library;  // contents of the shared library
};

// Compiles with $CXX (default: g++) into the folder RINGRUN_FAKE_NVRTC_CACHE, where a later process finds the library again.
// RINGRUN_FAKE_NVRTC_FLAGS are more flags, such as -fsanitize=address.
Compiled compile(const std::string& source);

// Writes a CUDA source to the folder RINGRUN_FAKE_NVRTC_SOURCES, if it is set, so that a real NVRTC can compile it too. The last
// line is a comment with the options. Equal sources with equal options are one file, named by their hash.
void keepSource(const std::string& source, const std::vector<std::string>& options);

}  // namespace fake_nvrtc
