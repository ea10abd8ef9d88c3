#pragma once

#include <string>
#include <vector>

namespace ringrun {

// The names of a library of the CUDA toolkit, the newest first: "libnvrtc.so" gives libnvrtc.so.13 and libnvrtc.so.12. A driver
// runs what libraries of its own major version and of older ones have made, so newer ones are left out.
std::vector<std::string> toolkitFiles(const std::string& name);

}  // namespace ringrun
