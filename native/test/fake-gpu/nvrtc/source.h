#pragma once

#include <string>
#include <vector>

// How the fake NVRTC reads and changes a source before g++ compiles it.

namespace fake_nvrtc {

struct KernelName {
  std::string name;
  std::string maxThreads;  // expression of __launch_bounds__; empty if it has none
};

// The kernels that a source defines, in order.
std::vector<KernelName> kernelsIn(const std::string& source);

// The source as g++ can compile it, with the list of its kernels behind it. Lines stay where they are.
std::string translated(const std::string& source, const std::string& name, const std::vector<KernelName>& kernels);

// g++'s messages in NVRTC's form: `softmax.cu(3): error: …`, with the source's line behind each.
std::string messagesOf(const std::string& log, const std::string& source);

}  // namespace fake_nvrtc
