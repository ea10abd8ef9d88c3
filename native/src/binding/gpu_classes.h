#pragma once

#include <napi.h>

#include <map>
#include <memory>

#include "gpu/compute_device.h"

namespace ringrun {

// What a JavaScript environment needs to create the objects of native/lib/gpu.ts. Ends with the environment.
struct GpuClasses {
  Napi::FunctionReference deviceMemory;
  Napi::FunctionReference module;
  Napi::FunctionReference program;
  // Devices that were opened, by ordinal: all objects of one GPU share its stream.
  std::map<int, std::shared_ptr<ComputeDevice>> devices;

  ~GpuClasses();

  static GpuClasses& of(Napi::Env env) { return *env.GetInstanceData<GpuClasses>(); }

  // Throws Failure.
  std::shared_ptr<ComputeDevice> device(int ordinal);
};

// An object of a class whose constructor takes an External of `value`.
template <typename Value>
Napi::Object newObject(Napi::Env env, const Napi::FunctionReference& constructor, Value value) {
  auto* const moved = new Value(std::move(value));
  return constructor.New({Napi::External<Value>::New(env, moved, [](Napi::Env, Value* released) { const std::unique_ptr<Value> owner(released); })});
}

// Sets describeGpu, GpuDevice and the classes of its objects.
void defineGpu(Napi::Env env, Napi::Object exports, const Napi::Function& deviceMemory);

}  // namespace ringrun
