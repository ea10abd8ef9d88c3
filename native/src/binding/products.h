#pragma once

#include <napi.h>

namespace ringrun {

// See native/lib/binding.ts.
Napi::Value productKernelNames(const Napi::CallbackInfo& info);
void multiplyPanelsWith(const Napi::CallbackInfo& info);

}  // namespace ringrun
