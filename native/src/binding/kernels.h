#pragma once

#include <napi.h>

namespace ringrun {

// The functions of native/lib/binding.ts that run the kernels of src/reduce of a named instruction set.
void defineKernels(Napi::Env env, Napi::Object exports);

}  // namespace ringrun
