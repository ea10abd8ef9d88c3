#pragma once

#include <napi.h>

namespace ringrun {

// The functions of native/lib/binding.ts about connections of this process.
Napi::Value ownConnectionsAtOf(const Napi::CallbackInfo& info);
Napi::Value shutDownConnectionOf(const Napi::CallbackInfo& info);

}  // namespace ringrun
