#pragma once

#include <napi.h>

#include "collectives/group.h"

namespace ringrun {

// The NativeFailure of native/lib/failure.ts.
Napi::Error toJs(Napi::Env env, const OperationFailure& failure);

}  // namespace ringrun
