#pragma once

#include <napi.h>

#include <cstdint>

#include "base/operation.h"

namespace ringrun {

// A typed array's elements; valid for as long as the array is reachable. `data` is never null.
struct Elements {
  void* data;
  std::uint64_t count;
  DType dtype;
};

// The dtype's number in nativeDType of native/lib/index.ts; throws TypeError for any other value.
DType dtypeOf(const Napi::Value& number);

// The dtype is TypeScript's to say: two of them lie in arrays of 16-bit unsigned integers, whose class does not tell
// which. Throws TypeError for what is no typed array, or one whose elements have another size. TypeScript lets none of
// those through; this is what keeps the process from crashing all the same.
Elements elementsOf(const Napi::Value& value, DType dtype);

}  // namespace ringrun
