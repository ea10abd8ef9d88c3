#pragma once

#include <napi.h>

namespace ringrun {

// lookUpImages, resizeImages, warpImages, adjustColors, mixUpImages and cutMixImages of native/lib/binding.ts.
void defineImages(Napi::Env env, Napi::Object& exports);

}  // namespace ringrun
