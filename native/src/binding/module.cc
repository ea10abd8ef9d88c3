#include <napi.h>

#include "base/usable_cpus.h"
#include "binding/algorithms.h"
#include "binding/device_memory.h"
#include "binding/file_locks.h"
#include "binding/file_maps.h"
#include "binding/gpu_classes.h"
#include "binding/gradients.h"
#include "binding/images.h"
#include "binding/kernels.h"
#include "binding/launcher_watch.h"
#include "binding/low_rank.h"
#include "binding/nccl.h"
#include "binding/onnx_binding.h"
#include "binding/onnx_chain.h"
#include "binding/onnx_session.h"
#include "binding/outer_step.h"
#include "binding/own_connections.h"
#include "binding/process_group.h"
#include "binding/products.h"
#include "binding/stacks.h"
#include "operators/product/panels.h"

namespace ringrun {
namespace {

Napi::Value usableCpusOf(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), usableCpus()); }

Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  exports.Set("ProcessGroup", ProcessGroup::define(env));
  const Napi::Function deviceMemory = DeviceMemoryObject::define(env);
  exports.Set("DeviceMemory", deviceMemory);
  defineGpu(env, exports, deviceMemory);
  exports.Set("OnnxSession", OnnxSession::define(env));
  exports.Set("OnnxBinding", OnnxBinding::define(env));
  exports.Set("runOnnxChain", Napi::Function::New(env, runOnnxChain));
  exports.Set("runOnnxChainSync", Napi::Function::New(env, runOnnxChainSync));
  exports.Set("describeNccl", Napi::Function::New(env, describeNcclOf));
  exports.Set("measureCopies", Napi::Function::New(env, measureCopiesOf));
  exports.Set("ncclUniqueId", Napi::Function::New(env, ncclUniqueIdOf));
  exports.Set("usableCpus", Napi::Function::New(env, usableCpusOf));
  defineKernels(env, exports);
  defineImages(env, exports);
  exports.Set("jointNorm", Napi::Function::New(env, jointNormOf));
  exports.Set("scaleArrays", Napi::Function::New(env, scaleArraysOf));
  exports.Set("clampArrays", Napi::Function::New(env, clampArraysOf));
  exports.Set("productKernelNames", Napi::Function::New(env, productKernelNames));
  exports.Set("multiplyPanelsWith", Napi::Function::New(env, multiplyPanelsWith));
  exports.Set("subtractFrom", Napi::Function::New(env, subtractFromOf));
  exports.Set("outerStep", Napi::Function::New(env, outerStepOf));
  exports.Set("mix", Napi::Function::New(env, mixOf));
  exports.Set("leftFactor", Napi::Function::New(env, leftFactorOf));
  exports.Set("rightFactor", Napi::Function::New(env, rightFactorOf));
  exports.Set("productOfFactors", Napi::Function::New(env, productOfFactorsOf));
  exports.Set("orthonormalize", Napi::Function::New(env, orthonormalizeOf));
  exports.Set("algorithmNames", Napi::Function::New(env, algorithmNamesOf));
  exports.Set("chooseAlgorithm", Napi::Function::New(env, chooseAlgorithmOf));
  defineStacks(env, exports);
  exports.Set("tryLockByte", Napi::Function::New(env, tryLockByteOf));
  exports.Set("unlockByte", Napi::Function::New(env, unlockByteOf));
  exports.Set("isByteLockedElsewhere", Napi::Function::New(env, isByteLockedElsewhereOf));
  exports.Set("ownConnectionsAt", Napi::Function::New(env, ownConnectionsAtOf));
  exports.Set("shutDownConnection", Napi::Function::New(env, shutDownConnectionOf));
  exports.Set("watchLauncher", Napi::Function::New(env, watchLauncherOf));
  exports.Set("mapFile", Napi::Function::New(env, mapFile));
  return exports;
}

}  // namespace
}  // namespace ringrun

Napi::Object initialize(Napi::Env env, Napi::Object exports) { return ringrun::initialize(env, exports); }

NODE_API_MODULE(ringrun, initialize)
