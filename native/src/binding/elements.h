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

// Throws TypeError for what is no typed array of a supported dtype. TypeScript lets none of those through; this is what
// keeps the process from crashing all the same.
Elements elementsOf(const Napi::Value& value);

}  // namespace ringrun
