#pragma once

#include <napi.h>

namespace ringrun {

// jointNorm, scaleArrays and clampArrays of native/lib/binding.ts.
Napi::Value jointNormOf(const Napi::CallbackInfo& info);
void scaleArraysOf(const Napi::CallbackInfo& info);
void clampArraysOf(const Napi::CallbackInfo& info);

}  // namespace ringrun
