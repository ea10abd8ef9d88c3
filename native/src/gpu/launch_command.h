#pragma once

#include <array>
#include <memory>
#include <optional>

#include "gpu/command.h"
#include "gpu/module.h"

namespace ringrun {

// An argument of a kernel: one or several pointers, or bytes.
struct KernelArgument {
  std::vector<GpuAddress> addresses;
  std::vector<std::uint8_t> bytes;  // if there is no address
};

struct KernelLaunch {
  std::shared_ptr<const GpuModule> module;
  std::string kernel;
  std::array<unsigned, 3> grid;
  std::array<unsigned, 3> block;
  unsigned sharedBytes;  // dynamic
  std::vector<KernelArgument> arguments;
};

// Launches a kernel.
class LaunchCommand : public GpuCommand {
 public:
  // The device must be current. Throws Failure if the kernel does not exist or has other parameters.
  LaunchCommand(std::string name, KernelLaunch launch);

  void enqueue(const GpuPlaces& places, const Stream& stream) override;

 private:
  void layOutArguments();
  void checkParameters() const;
  void allowSharedBytes() const;

  KernelLaunch launch_;
  CuFunction function_;
  // The arguments, one behind the other, and where each begins. Only enqueue(), of one thread at a time, writes pointers there.
  std::vector<std::uint8_t> storage_;
  std::vector<void*> begins_;
};

}  // namespace ringrun
