#pragma once

#include <napi.h>

namespace ringrun {

// The function of native/lib/binding.ts.
void watchLauncherOf(const Napi::CallbackInfo& info);

}  // namespace ringrun
