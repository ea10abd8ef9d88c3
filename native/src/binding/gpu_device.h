#pragma once

#include <napi.h>

#include <memory>

#include "binding/device_memory.h"
#include "binding/promise_queue.h"
#include "gpu/compute_device.h"

namespace ringrun {

// NativeGpuDevice of native/lib/gpu.ts.
class GpuDeviceObject : public Napi::ObjectWrap<GpuDeviceObject> {
 public:
  static Napi::Function define(Napi::Env env);

  // (ordinal)
  explicit GpuDeviceObject(const Napi::CallbackInfo& info);

 private:
  Napi::Value ordinal(const Napi::CallbackInfo& info);
  Napi::Value name(const Napi::CallbackInfo& info);
  Napi::Value capability(const Napi::CallbackInfo& info);
  Napi::Value memory(const Napi::CallbackInfo& info);
  Napi::Value compile(const Napi::CallbackInfo& info);
  Napi::Value compileSync(const Napi::CallbackInfo& info);
  Napi::Value allocate(const Napi::CallbackInfo& info);
  Napi::Value allocateWith(const Napi::CallbackInfo& info);
  Napi::Value newMemory(const DeviceMemoryObject::Owner& memory, std::size_t bytes);
  Napi::Value upload(const Napi::CallbackInfo& info);
  Napi::Value download(const Napi::CallbackInfo& info);
  void downloadSync(const Napi::CallbackInfo& info);
  void copyAll(const Napi::CallbackInfo& info);
  Napi::Value synchronize(const Napi::CallbackInfo& info);
  Napi::Value createProgram(const Napi::CallbackInfo& info);
  Napi::Value holding(const Napi::Value& value);

  std::shared_ptr<ComputeDevice> device_;
  std::unique_ptr<PromiseQueue> promises_;
};

}  // namespace ringrun
