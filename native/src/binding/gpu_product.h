#pragma once

#include <napi.h>

#include <memory>
#include <string>

#include "gpu/command.h"
#include "gpu/device.h"
#include "gpu/product_command.h"

namespace ringrun {

// A GpuDType of native/lib/gpu.ts. Throws Failure for other values.
GpuDType gpuDTypeOf(const Napi::Value& name);

// The command of a GpuProduct of native/lib/gpu.ts. The device must be current. Throws Failure.
std::unique_ptr<GpuCommand> productOf(const std::string& name, const Napi::Object& object, const Device& device);

}  // namespace ringrun
