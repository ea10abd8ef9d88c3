#pragma once

#include <napi.h>

#include <optional>

#include "collectives/algorithms.h"

namespace ringrun {

// Returns nothing for ''. Throws TypeError for an unknown name, which TypeScript has rejected before.
std::optional<Algorithm> algorithmOf(const Napi::Value& name);

// algorithmNames and chooseAlgorithm of native/lib/binding.ts.
Napi::Value algorithmNamesOf(const Napi::CallbackInfo& info);
Napi::Value chooseAlgorithmOf(const Napi::CallbackInfo& info);

}  // namespace ringrun
