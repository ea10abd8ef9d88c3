#pragma once

#include <napi.h>

#include <cstddef>
#include <cstdint>

#include "base/operation.h"

namespace ringrun {

// The elements of a typed array or DeviceTensor; valid while that is reachable. `data` is never null.
struct Elements {
  void* data;
  std::uint64_t count;
  DType dtype;
  bool onDevice = false;
};

// The memory of a typed array of any class; valid while that is reachable. `data` is never null.
struct ByteSpan {
  void* data;
  std::size_t bytes;
};

// Throws TypeError for other values.
ByteSpan bytesOf(const Napi::Value& typedArray);

// Throws TypeError unless `number` is one of nativeDType in native/lib/generated/numbers.ts.
DType dtypeOf(const Napi::Value& number);

// The elements of a typed array, or of a DeviceTensor: an object with `deviceMemory`, `byteOffset` and
// `length`. The caller passes the dtype, because float16 and bfloat16 share Uint16Array. Throws TypeError for
// any other value or element size; TypeScript rejects these earlier, so this only prevents crashes.
Elements elementsOf(const Napi::Value& value, DType dtype);

}  // namespace ringrun
