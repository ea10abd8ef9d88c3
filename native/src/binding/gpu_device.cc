#include "binding/gpu_device.h"

#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "binding/device_part.h"
#include "binding/elements.h"
#include "binding/gpu_classes.h"
#include "binding/gpu_definition.h"
#include "binding/gpu_module.h"
#include "binding/gpu_program.h"
#include "binding/gpu_transfers.h"
#include "binding/gpu_values.h"
#include "gpu/nvrtc.h"

namespace ringrun {
namespace {

std::shared_ptr<const GpuModule> compiledModule(const ComputeDevice& device, const std::string& source, const std::string& name) {
  const std::string cubin = Nvrtc::ofProcess().compile(source, name, device.architecture()).cubin;
  device.device().makeCurrent();
  return std::make_shared<const GpuModule>(device.device(), cubin, name);
}

// Compiles on a thread of libuv's pool, so that several sources are compiled at once.
class Compilation : public Napi::AsyncWorker {
 public:
  Compilation(Napi::Env env, std::shared_ptr<ComputeDevice> device, std::string source, std::string name)
      : Napi::AsyncWorker(env), deferred_(env), device_(std::move(device)), source_(std::move(source)), name_(std::move(name)) {}

  Napi::Value promise() const { return deferred_.Promise(); }

  void Execute() override {
    const std::optional<Failure> failure = failureOf([&] { module_ = compiledModule(*device_, source_, name_); });
    if (failure) SetError(failure->detail);
  }

  void OnOK() override { deferred_.Resolve(newObject(Env(), GpuClasses::of(Env()).module, GpuModuleObject::Loaded{device_, module_})); }
  void OnError(const Napi::Error& error) override { deferred_.Reject(error.Value()); }

 private:
  Napi::Promise::Deferred deferred_;
  std::shared_ptr<ComputeDevice> device_;
  std::string source_;
  std::string name_;
  std::shared_ptr<const GpuModule> module_;
};

}  // namespace

Napi::Function GpuDeviceObject::define(Napi::Env env) {
  return DefineClass(env, "GpuDevice",
                     {
                         InstanceAccessor<&GpuDeviceObject::ordinal>("ordinal"),
                         InstanceAccessor<&GpuDeviceObject::name>("name"),
                         InstanceAccessor<&GpuDeviceObject::capability>("capability"),
                         InstanceMethod<&GpuDeviceObject::memory>("memory"),
                         InstanceMethod<&GpuDeviceObject::compile>("compile"),
                         InstanceMethod<&GpuDeviceObject::compileSync>("compileSync"),
                         InstanceMethod<&GpuDeviceObject::allocate>("allocate"),
                         InstanceMethod<&GpuDeviceObject::allocateWith>("allocateWith"),
                         InstanceMethod<&GpuDeviceObject::upload>("upload"),
                         InstanceMethod<&GpuDeviceObject::download>("download"),
                         InstanceMethod<&GpuDeviceObject::downloadSync>("downloadSync"),
                         InstanceMethod<&GpuDeviceObject::copyAll>("copyAll"),
                         InstanceMethod<&GpuDeviceObject::synchronize>("synchronize"),
                         InstanceMethod<&GpuDeviceObject::createProgram>("createProgram"),
                     });
}

GpuDeviceObject::GpuDeviceObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<GpuDeviceObject>(info) {
  const int ordinal = info[0].ToNumber();
  const std::optional<Failure> failure = failureOf([&] { device_ = GpuClasses::of(info.Env()).device(ordinal); });
  if (failure) throw errorOf(info.Env(), *failure);
  promises_ = std::make_unique<PromiseQueue>(info.Env(), "ringrun GPU", [device = device_] { device->awaitIdle(); });
}

Napi::Value GpuDeviceObject::ordinal(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), device_->ordinal()); }

Napi::Value GpuDeviceObject::name(const Napi::CallbackInfo& info) { return Napi::String::New(info.Env(), device_->name()); }

Napi::Value GpuDeviceObject::capability(const Napi::CallbackInfo& info) {
  Napi::Array pair = Napi::Array::New(info.Env(), 2);
  pair.Set(0u, device_->capabilityMajor());
  pair.Set(1u, device_->capabilityMinor());
  return pair;
}

Napi::Value GpuDeviceObject::memory(const Napi::CallbackInfo& info) {
  ComputeDevice::MemoryInfo memory{};
  const std::optional<Failure> failure = failureOf([&] { memory = device_->memory(); });
  if (failure) throw errorOf(info.Env(), *failure);
  Napi::Object object = Napi::Object::New(info.Env());
  object.Set("freeBytes", static_cast<double>(memory.free));
  object.Set("totalBytes", static_cast<double>(memory.total));
  return object;
}

// (source, name)
Napi::Value GpuDeviceObject::compile(const Napi::CallbackInfo& info) {
  auto* const compilation = new Compilation(info.Env(), device_, info[0].ToString(), info[1].ToString());
  const Napi::Value promise = compilation->promise();
  compilation->Queue();  // deletes itself
  return promise;
}

Napi::Value GpuDeviceObject::compileSync(const Napi::CallbackInfo& info) {
  std::shared_ptr<const GpuModule> module;
  const std::string source = info[0].ToString();
  const std::string name = info[1].ToString();
  const std::optional<Failure> failure = failureOf([&] { module = compiledModule(*device_, source, name); });
  if (failure) throw errorOf(info.Env(), *failure);
  return newObject(info.Env(), GpuClasses::of(info.Env()).module, GpuModuleObject::Loaded{device_, module});
}

// (bytes)
Napi::Value GpuDeviceObject::allocate(const Napi::CallbackInfo& info) {
  DeviceMemoryObject::Owner memory;
  const std::optional<Failure> failure = failureOf([&] { memory = device_->allocate(sizeOf(info[0])); });
  if (failure) throw errorOf(info.Env(), *failure);
  return newMemory(memory, sizeOf(info[0]));
}

Napi::Value GpuDeviceObject::newMemory(const DeviceMemoryObject::Owner& memory, std::size_t bytes) {
  DeviceMemoryObject::Owner owner = memory;
  const auto external = Napi::External<DeviceMemoryObject::Owner>::New(Env(), &owner);
  const auto size = Napi::Number::New(Env(), static_cast<double>(bytes));
  return GpuClasses::of(Env()).deviceMemory.New({Napi::Number::New(Env(), device_->ordinal()), size, external});
}

// (from)
Napi::Value GpuDeviceObject::allocateWith(const Napi::CallbackInfo& info) {
  const ByteSpan from = bytesOf(info[0]);
  if (from.bytes == 0) throw Napi::RangeError::New(info.Env(), "allocateWith: expected an array with elements, got an empty one");
  DeviceMemoryObject::Owner memory;
  const std::optional<Failure> failure = failureOf([&] {
    memory = device_->allocate(from.bytes);
    const std::shared_ptr<const PinnedMemory> staging = device_->pinned(from.bytes);
    std::memcpy(staging->data(), from.data, from.bytes);
    device_->copyToNew(memory, staging, from.bytes, [device = device_, staging](const std::optional<Failure>& copying) { device->note(copying); });
  });
  if (failure) throw errorOf(info.Env(), *failure);
  return newMemory(memory, from.bytes);
}

// This object and another value, for the time of a call.
Napi::Value GpuDeviceObject::holding(const Napi::Value& value) {
  Napi::Array both = Napi::Array::New(Env(), 2);
  both.Set(0u, Value());
  both.Set(1u, value);
  return both;
}

// (from, to, byteOffset?)
Napi::Value GpuDeviceObject::upload(const Napi::CallbackInfo& info) {
  const ByteSpan from = bytesOf(info[0]);
  const DevicePart to = partOf(info[1], info[2], from.bytes);
  const std::size_t bytes = from.bytes;
  std::shared_ptr<const PinnedMemory> staging;
  const void* source = from.data;
  if (!isPinned(from.data, bytes)) {
    const std::optional<Failure> failure = failureOf([&] { staging = device_->pinned(bytes); });
    if (failure) throw errorOf(info.Env(), *failure);
    std::memcpy(staging->data(), from.data, bytes);
    source = staging->data();
  }
  PromiseQueue::Pending* pending = nullptr;
  const Napi::Value promise = promises_->start(info.Env(), holding(staging == nullptr ? info[0] : info.Env().Undefined()), pending);
  device_->submit(
      [to, source, bytes](const Stream& stream) {
        if (bytes > 0) stream.copyToDevice(to.data, source, bytes);
      },
      [this, pending, staging](const std::optional<Failure>& failure) { promises_->settle(pending, failure); });
  return promise;
}

// (from, to, byteOffset?)
Napi::Value GpuDeviceObject::download(const Napi::CallbackInfo& info) {
  const ByteSpan to = bytesOf(info[1]);
  const DevicePart from = partOf(info[0], info[2], to.bytes);
  std::shared_ptr<const PinnedMemory> staging;
  const std::optional<Failure> failure = failureOf([&] { staging = device_->pinned(to.bytes); });
  if (failure) throw errorOf(info.Env(), *failure);
  PromiseQueue::Pending* pending = nullptr;
  const Napi::Value promise = promises_->start(info.Env(), holding(info[1]), pending);
  device_->submit(
      [from, staging, to](const Stream& stream) {
        if (to.bytes > 0) stream.copyToHost(staging->data(), from.data, to.bytes);
      },
      [this, pending, staging, to](const std::optional<Failure>& copying) {
        if (!copying) std::memcpy(to.data, staging->data(), to.bytes);
        promises_->settle(pending, copying);
      });
  return promise;
}

// (from, to, byteOffset?)
void GpuDeviceObject::downloadSync(const Napi::CallbackInfo& info) {
  const ByteSpan to = bytesOf(info[1]);
  const DevicePart from = partOf(info[0], info[2], to.bytes);
  const std::optional<Failure> failure = failureOf([&] {
    const std::shared_ptr<const PinnedMemory> staging = device_->pinned(to.bytes);
    device_->submitAndWait([&](const Stream& stream) {
      if (to.bytes > 0) stream.copyToHost(staging->data(), from.data, to.bytes);
    });
    std::memcpy(to.data, staging->data(), to.bytes);
  });
  if (failure) throw errorOf(info.Env(), *failure);
}

// (transfers)
void GpuDeviceObject::copyAll(const Napi::CallbackInfo& info) {
  const auto transfers = std::make_shared<const GpuTransfers>(info[0], *device_);
  device_->submit([transfers](const Stream& stream) { transfers->addBefore(stream); },
                  [device = device_, transfers](const std::optional<Failure>& failure) { device->note(failure); });
}

Napi::Value GpuDeviceObject::synchronize(const Napi::CallbackInfo& info) {
  PromiseQueue::Pending* pending = nullptr;
  const Napi::Value promise = promises_->start(info.Env(), Value(), pending);
  device_->submit([](const Stream&) {}, [this, pending](const std::optional<Failure>& failure) {
    const std::optional<Failure> earlier = device_->takeNoted();
    promises_->settle(pending, earlier ? earlier : failure);
  });
  return promise;
}

// (definition)
Napi::Value GpuDeviceObject::createProgram(const Napi::CallbackInfo& info) {
  device_->device().makeCurrent();
  GpuDefinition definition = definitionOf(objectOf(info[0]), device_->device());
  GpuProgramObject::Created created{device_, nullptr, definition.slotBytes, GpuProgram::workspaceBytesOf(definition.commands)};
  const std::optional<Failure> failure = failureOf([&] {
    const auto memory = [&](std::size_t bytes) { return bytes == 0 ? nullptr : device_->allocate(bytes); };
    const GpuProgram::Memory arena = memory(definition.arenaBytes);
    const GpuProgram::Memory workspace = memory(created.workspaceBytes);
    created.program = std::make_shared<GpuProgram>(device_->device(), definition.name, std::move(definition.commands), arena, workspace);
  });
  if (failure) throw Napi::Error::New(info.Env(), "program " + definition.name + ": " + failure->detail);
  return newObject(info.Env(), GpuClasses::of(info.Env()).program, std::move(created));
}

}  // namespace ringrun
