#pragma once

#include <napi.h>

#include <memory>
#include <string>

#include "gpu/command.h"
#include "gpu/device.h"

namespace ringrun {

// The command of a GpuConvolution of native/lib/gpu.ts. The device must be current. Throws Failure.
std::unique_ptr<GpuCommand> convolutionOf(const std::string& name, const Napi::Object& object, const Device& device);

}  // namespace ringrun
