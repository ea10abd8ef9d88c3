#pragma once

#include <napi.h>

namespace ringrun {

// leftFactor, rightFactor, productOfFactors and orthonormalize of native/lib/binding.ts.
void leftFactorOf(const Napi::CallbackInfo& info);
void rightFactorOf(const Napi::CallbackInfo& info);
void productOfFactorsOf(const Napi::CallbackInfo& info);
Napi::Value orthonormalizeOf(const Napi::CallbackInfo& info);

}  // namespace ringrun
