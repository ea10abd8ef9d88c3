#include "binding/device_memory.h"

#include <algorithm>


namespace ringrun {
namespace {

// Identifies these objects, independent of their prototypes.
constexpr napi_type_tag kDeviceMemoryTag{0x5d1c6e0b7f3a4928, 0x9b0e6a3f51c2d784};

}  // namespace

Napi::Function DeviceMemoryObject::define(Napi::Env env) {
  return DefineClass(env, "DeviceMemory",
                     {
                         InstanceAccessor<&DeviceMemoryObject::addressOf>("address"),
                         InstanceAccessor<&DeviceMemoryObject::bytesOf>("bytes"),
                         InstanceMethod<&DeviceMemoryObject::free>("free"),
                     });
}

DeviceMemoryObject::DeviceMemoryObject(const Napi::CallbackInfo& info) : Napi::ObjectWrap<DeviceMemoryObject>(info) {
  const int index = info[0].As<Napi::Number>();
  bytes_ = static_cast<std::uint64_t>(info[1].As<Napi::Number>().Int64Value());
  napi_type_tag_object(info.Env(), Value(), &kDeviceMemoryTag);
  if (info[2].IsBigInt()) {
    bool isExact = false;
    data_ = reinterpret_cast<std::uint8_t*>(info[2].As<Napi::BigInt>().Uint64Value(&isExact));
    return;
  }
  if (info[2].IsExternal()) {
    owned_ = *info[2].As<Napi::External<Owner>>().Data();
    data_ = owned_->data();
    Napi::MemoryManagement::AdjustExternalMemory(info.Env(), static_cast<std::int64_t>(bytes_));
    return;
  }
  const std::optional<Failure> failure = failureOf([&] {
    const Device& device = Device::at(index);
    device.makeCurrent();
    owned_ = std::make_shared<const DeviceMemory>(device, static_cast<std::size_t>(std::max<std::uint64_t>(bytes_, 1)));
    data_ = owned_->data();
  });
  if (failure) throw Napi::Error::New(info.Env(), failure->detail);
  // Informs the garbage collector about the memory of a small object.
  Napi::MemoryManagement::AdjustExternalMemory(info.Env(), static_cast<std::int64_t>(bytes_));
}

DeviceMemoryObject* DeviceMemoryObject::of(const Napi::Value& value) {
  bool isTagged = false;
  if (!value.IsObject()) return nullptr;
  if (napi_check_object_type_tag(value.Env(), value, &kDeviceMemoryTag, &isTagged) != napi_ok || !isTagged) return nullptr;
  return Unwrap(value.As<Napi::Object>());
}

Napi::Value DeviceMemoryObject::addressOf(const Napi::CallbackInfo& info) {
  return Napi::BigInt::New(info.Env(), reinterpret_cast<std::uint64_t>(data_));
}

Napi::Value DeviceMemoryObject::bytesOf(const Napi::CallbackInfo& info) {
  return Napi::Number::New(info.Env(), static_cast<double>(bytes_));
}

DeviceMemoryObject::~DeviceMemoryObject() { release(Env()); }

void DeviceMemoryObject::free(const Napi::CallbackInfo& info) { release(info.Env()); }

void DeviceMemoryObject::release(Napi::Env env) {
  if (owned_) Napi::MemoryManagement::AdjustExternalMemory(env, -static_cast<std::int64_t>(bytes_));
  owned_.reset();
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace ringrun
