#pragma once

#include <napi.h>

namespace ringrun {

// describeNccl of native/lib/binding.ts.
Napi::Value describeNcclOf(const Napi::CallbackInfo& info);

// ncclUniqueId of native/lib/binding.ts.
Napi::Value ncclUniqueIdOf(const Napi::CallbackInfo& info);

// measureCopies of native/lib/binding.ts.
Napi::Value measureCopiesOf(const Napi::CallbackInfo& info);

}  // namespace ringrun
