#pragma once

#include <napi.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "binding/device_memory.h"
#include "binding/gpu_values.h"

namespace ringrun {

// A part of GPU memory, with its owner.
struct DevicePart {
  std::uint8_t* data;
  DeviceMemoryObject::Owner owner;
};

// Throws a JavaScript error unless the memory has the bytes.
inline DevicePart partOf(const Napi::Value& value, const Napi::Value& byteOffset, std::size_t bytes) {
  const DeviceMemoryObject* const memory = DeviceMemoryObject::of(value);
  if (memory == nullptr || memory->data() == nullptr) {
    throw Napi::TypeError::New(value.Env(), "expected memory of a GPU, got another value or freed memory");
  }
  const std::size_t offset = byteOffset.IsUndefined() ? 0 : sizeOf(byteOffset);
  if (offset + bytes > memory->bytes()) {
    throw Napi::RangeError::New(value.Env(), "expected " + std::to_string(bytes) + " bytes from byte " + std::to_string(offset) +
                                                 " on, got memory of " + std::to_string(memory->bytes()) + " bytes");
  }
  return {memory->data() + offset, memory->owner()};
}

}  // namespace ringrun
