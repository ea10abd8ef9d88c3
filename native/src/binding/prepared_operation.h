#pragma once

#include <napi.h>

#include <memory>

#include "binding/startable_operation.h"

namespace ringrun {

// NativePreparedOperation of native/lib/process-group.ts: an opaque object that holds a StartableOperation.
Napi::Value wrapOperation(Napi::Env env, std::shared_ptr<StartableOperation> operation);

// Throws a TypeError for other values.
std::shared_ptr<StartableOperation> operationOf(const Napi::Value& value);

}  // namespace ringrun
