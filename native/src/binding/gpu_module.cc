#include "binding/gpu_module.h"

#include <utility>

#include "binding/promise_queue.h"

namespace ringrun {
namespace {

constexpr napi_type_tag kGpuModuleTag{0x3f1d8b62c5a74e09, 0x8d27f0b6e4139c5a};

}  // namespace

Napi::Function GpuModuleObject::define(Napi::Env env) {
  return DefineClass(env, "GpuModule", {InstanceMethod<&GpuModuleObject::resources>("resources")});
}

GpuModuleObject::GpuModuleObject(const Napi::CallbackInfo& info)
    : Napi::ObjectWrap<GpuModuleObject>(info), loaded_(*info[0].As<Napi::External<Loaded>>().Data()) {
  napi_type_tag_object(info.Env(), Value(), &kGpuModuleTag);
}

// Unloading waits for the GPU, so this thread must not be the one that does it.
GpuModuleObject::~GpuModuleObject() {
  ComputeDevice& device = *loaded_.device;
  auto last = std::make_shared<std::shared_ptr<const GpuModule>>(std::move(loaded_.module));
  device.submit([last](const Stream&) { last->reset(); }, [](const std::optional<Failure>&) {});
}

std::shared_ptr<const GpuModule> GpuModuleObject::of(const Napi::Value& value) {
  bool isTagged = false;
  const bool isObject = value.IsObject() && napi_check_object_type_tag(value.Env(), value, &kGpuModuleTag, &isTagged) == napi_ok;
  if (!isObject || !isTagged) throw Napi::TypeError::New(value.Env(), "module: expected a module of GpuDevice.compile, got another value");
  return Unwrap(value.As<Napi::Object>())->loaded_.module;
}

// (kernel)
Napi::Value GpuModuleObject::resources(const Napi::CallbackInfo& info) {
  KernelResources resources{};
  const std::optional<Failure> failure = failureOf([&] { resources = loaded_.module->resources(info[0].ToString()); });
  if (failure) throw errorOf(info.Env(), *failure);
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("registers", resources.registers);
  object.Set("localBytes", resources.localBytes);
  object.Set("sharedBytes", resources.sharedBytes);
  object.Set("maxThreads", resources.maxThreads);
  return object;
}

}  // namespace ringrun
