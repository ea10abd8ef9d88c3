#pragma once

#include <napi.h>

#include "gpu/describe.h"

namespace ringrun {

// NativeLibraryDescription of native/lib/nccl.ts.
Napi::Object toJs(Napi::Env env, const LibraryDescription& library);

}  // namespace ringrun
