#pragma once

#include <napi.h>

#include <cstdint>
#include <memory>

#include "gpu/memory.h"

namespace ringrun {

// NativeDeviceMemory of native/lib/tensors.ts: GPU memory, allocated here or owned by another library.
class DeviceMemoryObject : public Napi::ObjectWrap<DeviceMemoryObject> {
 public:
  static Napi::Function define(Napi::Env env);

  using Owner = std::shared_ptr<const DeviceMemory>;

  // (device, bytes), (device, bytes, address) for memory that another library owns, or (device, bytes, External<Owner>).
  explicit DeviceMemoryObject(const Napi::CallbackInfo& info);
  ~DeviceMemoryObject() override;

  // The object wrapped by `value`, or null if it is not a DeviceMemory.
  static DeviceMemoryObject* of(const Napi::Value& value);

  // Null after free().
  std::uint8_t* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }
  // Null if another library owns the memory.
  const Owner& owner() const { return owned_; }

 private:
  Napi::Value addressOf(const Napi::CallbackInfo& info);
  Napi::Value bytesOf(const Napi::CallbackInfo& info);
  void free(const Napi::CallbackInfo& info);
  void release(Napi::Env env);

  Owner owned_;
  std::uint8_t* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace ringrun
