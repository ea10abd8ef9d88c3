#pragma once

#include <napi.h>

#include <cstdint>

#include "base/operation.h"

namespace ringrun {

// The elements of a typed array, or of a DeviceTensor; valid for as long as that is reachable. `data` is never null.
struct Elements {
  void* data;
  std::uint64_t count;
  DType dtype;
  bool onDevice = false;
};

// The dtype's number in nativeDType of native/lib/index.ts; throws TypeError for any other value.
DType dtypeOf(const Napi::Value& number);

// The dtype is TypeScript's to say: two of them lie in arrays of 16-bit unsigned integers, whose class does not tell
// which. A DeviceTensor is an object with `deviceMemory`, `byteOffset` and `length`. Throws TypeError for what is neither, or one whose elements have another size. TypeScript lets none of
// those through; this is what keeps the process from crashing all the same.
Elements elementsOf(const Napi::Value& value, DType dtype);

}  // namespace ringrun
