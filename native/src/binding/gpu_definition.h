#pragma once

#include <napi.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "gpu/command.h"
#include "gpu/device.h"

namespace ringrun {

// A GpuProgramDefinition of native/lib/gpu.ts, whose commands were checked.
struct GpuDefinition {
  std::string name;
  std::size_t arenaBytes;
  std::vector<std::size_t> slotBytes;
  std::vector<std::unique_ptr<GpuCommand>> commands;
};

// Throws a JavaScript error with the names of the program and of the command that cannot be carried out. The device must be
// current.
GpuDefinition definitionOf(const Napi::Object& definition, const Device& device);

}  // namespace ringrun
