#pragma once

#include <napi.h>

namespace ringrun {

// The file lock functions of native/lib/binding.ts.
Napi::Value tryLockByteOf(const Napi::CallbackInfo& info);
void unlockByteOf(const Napi::CallbackInfo& info);
Napi::Value isByteLockedElsewhereOf(const Napi::CallbackInfo& info);

}  // namespace ringrun
