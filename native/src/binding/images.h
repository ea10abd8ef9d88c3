#pragma once

#include <napi.h>

namespace ringrun {

// lookUpImages of native/lib/binding.ts.
void lookUpImages(const Napi::CallbackInfo& info);

}  // namespace ringrun
