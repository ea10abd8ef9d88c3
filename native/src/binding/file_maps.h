#pragma once

#include <napi.h>

namespace ringrun {

// mapFile of native/lib/index.ts.
Napi::Value mapFile(const Napi::CallbackInfo& info);

}  // namespace ringrun
