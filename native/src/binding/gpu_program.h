#pragma once

#include <napi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "binding/device_memory.h"
#include "binding/promise_queue.h"
#include "gpu/compute_device.h"
#include "gpu/program.h"

namespace ringrun {

// NativeGpuProgram of native/lib/gpu.ts.
class GpuProgramObject : public Napi::ObjectWrap<GpuProgramObject> {
 public:
  struct Created {
    std::shared_ptr<ComputeDevice> device;
    std::shared_ptr<GpuProgram> program;
    std::vector<std::size_t> slotBytes;
    std::size_t workspaceBytes;
  };

  static Napi::Function define(Napi::Env env);

  // (External<Created>)
  explicit GpuProgramObject(const Napi::CallbackInfo& info);
  ~GpuProgramObject() override;

 private:
  // The buffers of the slots. A pending run shares them, so they are copied before they change.
  struct Slots {
    std::vector<std::uint8_t*> addresses;
    std::vector<DeviceMemoryObject::Owner> owners;
  };

  void bind(const Napi::CallbackInfo& info);
  Napi::Value run(const Napi::CallbackInfo& info);
  void runSync(const Napi::CallbackInfo& info);
  Napi::Value measure(const Napi::CallbackInfo& info);
  Napi::Value statistics(const Napi::CallbackInfo& info);
  void release(const Napi::CallbackInfo& info);
  void releaseProgram();
  ComputeDevice::Work oneRun(Napi::Env env) const;

  Created created_;
  std::shared_ptr<Slots> slots_;
  // Written after each run by the thread that adds work, read by the JavaScript thread.
  struct SharedStatistics;
  std::shared_ptr<SharedStatistics> statistics_;
  std::unique_ptr<PromiseQueue> promises_;
};

}  // namespace ringrun
