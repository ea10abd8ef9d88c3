#include "binding/gpu_classes.h"

#include <optional>
#include <string>
#include <vector>

#include "binding/describe_library.h"
#include "binding/gpu_device.h"
#include "binding/gpu_module.h"
#include "binding/gpu_program.h"
#include "binding/promise_queue.h"
#include "gpu/describe.h"
#include "gpu/nvrtc.h"

namespace ringrun {
namespace {

Napi::Value describeGpuOf(const Napi::CallbackInfo& info) {
  const GpuDescription description = describeGpu();
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("problem", description.problem);
  object.Set("cuda", toJs(info.Env(), description.cuda));
  object.Set("nvrtc", toJs(info.Env(), description.nvrtc));
  object.Set("cublasLt", toJs(info.Env(), description.cublasLt));
  object.Set("cudnn", toJs(info.Env(), description.cudnn));
  return object;
}

// (source, name, architecture, options)
Napi::Value compileCubinOf(const Napi::CallbackInfo& info) {
  const auto list = info[3].As<Napi::Array>();
  std::vector<std::string> options;
  for (std::uint32_t i = 0; i < list.Length(); ++i) options.push_back(list.Get(i).ToString());
  Nvrtc::Compiled compiled;
  const std::optional<Failure> failure =
      failureOf([&] { compiled = Nvrtc::ofProcess().compile(info[0].ToString(), info[1].ToString(), info[2].ToNumber(), options); });
  if (failure) throw errorOf(info.Env(), *failure);
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("cubin", Napi::Buffer<char>::Copy(info.Env(), compiled.cubin.data(), compiled.cubin.size()));
  object.Set("log", compiled.log);
  return object;
}

}  // namespace

// Work of an ending environment uses memory of JavaScript: it ends first.
GpuClasses::~GpuClasses() {
  for (const auto& [ordinal, device] : devices) device->awaitIdle();
}

std::shared_ptr<ComputeDevice> GpuClasses::device(int ordinal) {
  const auto known = devices.find(ordinal);
  if (known != devices.end()) return known->second;
  return devices[ordinal] = ComputeDevice::open(ordinal);
}

void defineGpu(Napi::Env env, Napi::Object exports, const Napi::Function& deviceMemory) {
  auto* const classes = new GpuClasses;
  classes->deviceMemory = Napi::Persistent(deviceMemory);
  classes->module = Napi::Persistent(GpuModuleObject::define(env));
  classes->program = Napi::Persistent(GpuProgramObject::define(env));
  env.SetInstanceData(classes);
  exports.Set("GpuDevice", GpuDeviceObject::define(env));
  exports.Set("compileCubin", Napi::Function::New(env, compileCubinOf));
  exports.Set("describeGpu", Napi::Function::New(env, describeGpuOf));
}

}  // namespace ringrun
