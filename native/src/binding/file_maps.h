#pragma once

#include <napi.h>

namespace ringrun {

// mapFile of native/lib/binding.ts.
Napi::Value mapFile(const Napi::CallbackInfo& info);

}  // namespace ringrun
