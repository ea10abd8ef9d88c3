#pragma once

#include <napi.h>

#include <memory>

#include "gpu/compute_device.h"
#include "gpu/module.h"

namespace ringrun {

// NativeGpuModule of native/lib/gpu.ts.
class GpuModuleObject : public Napi::ObjectWrap<GpuModuleObject> {
 public:
  struct Loaded {
    std::shared_ptr<ComputeDevice> device;
    std::shared_ptr<const GpuModule> module;
  };

  static Napi::Function define(Napi::Env env);

  // (External<Loaded>)
  explicit GpuModuleObject(const Napi::CallbackInfo& info);
  ~GpuModuleObject() override;

  // Throws TypeError if `value` is not a GpuModule.
  static std::shared_ptr<const GpuModule> of(const Napi::Value& value);

 private:
  Napi::Value resources(const Napi::CallbackInfo& info);

  Loaded loaded_;
};

}  // namespace ringrun
