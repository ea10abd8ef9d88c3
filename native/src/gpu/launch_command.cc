#include "gpu/launch_command.h"

#include <cstring>

namespace ringrun {
namespace {

constexpr std::size_t kArgumentAlignment = 16;  // of the vector types

std::size_t bytesOf(const KernelArgument& argument) {
  return argument.addresses.empty() ? argument.bytes.size() : argument.addresses.size() * sizeof(CuPointer);
}

std::size_t aligned(std::size_t bytes) { return (bytes + kArgumentAlignment - 1) / kArgumentAlignment * kArgumentAlignment; }

std::string counted(std::size_t count, const std::string& thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

}  // namespace

LaunchCommand::LaunchCommand(std::string name, KernelLaunch launch)
    : GpuCommand(std::move(name)), launch_(std::move(launch)), function_(launch_.module->kernel(launch_.kernel)) {
  checkParameters();
  allowSharedBytes();
  layOutArguments();
}

void LaunchCommand::layOutArguments() {
  std::size_t total = 0;
  for (const KernelArgument& argument : launch_.arguments) total += aligned(bytesOf(argument));
  storage_.resize(total);
  std::size_t offset = 0;
  for (const KernelArgument& argument : launch_.arguments) {
    begins_.push_back(storage_.data() + offset);
    if (!argument.bytes.empty()) std::memcpy(begins_.back(), argument.bytes.data(), argument.bytes.size());
    offset += aligned(bytesOf(argument));
  }
}

// Drivers before CUDA 12.4 do not tell the parameters.
void LaunchCommand::checkParameters() const {
  const CudaCompute& cuda = CudaCompute::ofProcess();
  if (!cuda.funcGetParamInfo) return;
  const std::string about = "kernel " + launch_.kernel + " of " + launch_.module->name();
  std::size_t offset = 0;
  std::vector<std::size_t> bytes(1);
  while (cuda.funcGetParamInfo(function_, bytes.size() - 1, &offset, &bytes.back()) == kCudaSuccess) bytes.push_back(0);
  bytes.pop_back();
  if (bytes.size() != launch_.arguments.size()) {
    throw Failure(FailureCode::System, {},
                  about + ": expected " + counted(bytes.size(), "argument") + ", got " + std::to_string(launch_.arguments.size()));
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t given = bytesOf(launch_.arguments[i]);
    if (given == bytes[i]) continue;
    throw Failure(FailureCode::System, {},
                  about + ": argument " + std::to_string(i) + " has " + counted(bytes[i], "byte") + ", got " + std::to_string(given));
  }
}

// More dynamic shared memory than every GPU has must be asked for.
void LaunchCommand::allowSharedBytes() const {
  constexpr unsigned kAlwaysAllowed = 48 * 1024;
  const CudaCompute& cuda = CudaCompute::ofProcess();
  const auto fixed = static_cast<unsigned>(launch_.module->resources(launch_.kernel).sharedBytes);
  if (fixed + launch_.sharedBytes <= kAlwaysAllowed) return;
  cuda.call(cuda.funcSetAttribute, withThousandsSeparated(launch_.sharedBytes) + " bytes of shared memory for kernel " + launch_.kernel,
            function_, kFunctionMaxDynamicSharedBytes, static_cast<int>(launch_.sharedBytes));
}

void LaunchCommand::enqueue(const GpuPlaces& places, const Stream& stream) {
  for (std::size_t i = 0; i < begins_.size(); ++i) {
    auto* at = static_cast<std::uint8_t*>(begins_[i]);
    for (const GpuAddress& address : launch_.arguments[i].addresses) {
      const auto pointer = reinterpret_cast<CuPointer>(places.at(address));
      std::memcpy(at, &pointer, sizeof pointer);
      at += sizeof pointer;
    }
  }
  const CudaCompute& cuda = CudaCompute::ofProcess();
  const auto& [grid, block] = std::pair(launch_.grid, launch_.block);
  cuda.call(cuda.launchKernel, "kernel " + launch_.kernel, function_, grid[0], grid[1], grid[2], block[0], block[1], block[2],
            launch_.sharedBytes, stream.handle(), begins_.data(), static_cast<void**>(nullptr));
}

}  // namespace ringrun
