#pragma once

#include <napi.h>

namespace ringrun {

// subtractFrom, outerStep and mix of native/lib/binding.ts.
void subtractFromOf(const Napi::CallbackInfo& info);
void outerStepOf(const Napi::CallbackInfo& info);
void mixOf(const Napi::CallbackInfo& info);

}  // namespace ringrun
