#pragma once

#include <string>

namespace fake_nvrtc {

struct Compiled {
  bool succeeded;
  std::string log;
  std::string library;  // contents of the shared library
};

// Compiles with $CXX (default: g++) into the folder RINGRUN_FAKE_NVRTC_CACHE, where a later process finds the library again.
// RINGRUN_FAKE_NVRTC_FLAGS are more flags, such as -fsanitize=address.
Compiled compile(const std::string& source);

}  // namespace fake_nvrtc
