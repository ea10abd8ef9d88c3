#pragma once

#include <napi.h>

#include <cstdint>
#include <memory>
#include <mutex>
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

  // The object wrapped by `value`, or null if it is not a GpuProgram.
  static GpuProgramObject* of(const Napi::Value& value);

  // The buffers of the slots. A pending run shares them, so they are copied before they change.
  struct Slots {
    std::vector<std::uint8_t*> addresses;
    std::vector<DeviceMemoryObject::Owner> owners;
  };

  // Written after each run by the thread that adds work, read by the JavaScript thread.
  struct SharedStatistics {
    std::mutex mutex;
    GpuProgram::Statistics values;  // guarded by mutex
  };

  // A run with the current buffers. Throws a JavaScript error if it was released, or a slot has no buffer.
  struct Run {
    std::shared_ptr<ComputeDevice> device;
    std::shared_ptr<GpuProgram> program;
    std::shared_ptr<const Slots> slots;
    std::shared_ptr<SharedStatistics> statistics;
    void recordStatistics() const;
  };
  Run currentRun(Napi::Env env) const;

 private:

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
  std::shared_ptr<SharedStatistics> statistics_;
  std::unique_ptr<PromiseQueue> promises_;
};

}  // namespace ringrun
