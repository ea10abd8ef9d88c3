#pragma once

#include <napi.h>

namespace ringrun {

// Captures the JavaScript stack if it was requested. Must be called on the JavaScript thread of `env`.
void captureRequestedStack(Napi::Env env);

// Defines longWaits, requestStack and takeStack.
void defineStacks(Napi::Env env, Napi::Object exports);

}  // namespace ringrun
