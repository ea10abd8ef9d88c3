#pragma once

#include <napi.h>

namespace ringrun {

// runOnnxChain and runOnnxChainSync of native/lib/binding.ts: runs of several sessions, one after another.
Napi::Value runOnnxChain(const Napi::CallbackInfo& info);
void runOnnxChainSync(const Napi::CallbackInfo& info);

}  // namespace ringrun
