#pragma once

#include <napi.h>

#include <cstddef>

#include "gpu/address.h"

namespace ringrun {

// The C++ forms of values of native/lib/gpu.ts.

inline Napi::Object objectOf(const Napi::Value& value) {
  if (!value.IsObject()) throw Napi::TypeError::New(value.Env(), "expected an object, got another value");
  return value.As<Napi::Object>();
}

inline std::size_t sizeOf(const Napi::Value& number) { return static_cast<std::size_t>(number.ToNumber().Int64Value()); }

// A GpuAddress: { arena } or { slot, byteOffset? }.
inline GpuAddress addressOf(const Napi::Object& object) {
  const Napi::Value arena = object.Get("arena");
  if (arena.IsNumber()) return {GpuAddress::kArena, sizeOf(arena)};
  const Napi::Value slot = object.Get("slot");
  if (!slot.IsNumber()) throw Napi::TypeError::New(object.Env(), "address: expected an arena or a slot, got neither");
  const Napi::Value offset = object.Get("byteOffset");
  return {slot.ToNumber().Int32Value(), offset.IsUndefined() ? 0 : sizeOf(offset)};
}

}  // namespace ringrun
