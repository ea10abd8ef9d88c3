#include <napi.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/usable_cpus.h"
#include "binding/algorithms.h"
#include "binding/device_memory.h"
#include "binding/elements.h"
#include "binding/file_locks.h"
#include "binding/file_maps.h"
#include "binding/gpu_classes.h"
#include "binding/gradients.h"
#include "binding/images.h"
#include "binding/low_rank.h"
#include "binding/nccl.h"
#include "binding/onnx_binding.h"
#include "binding/onnx_chain.h"
#include "binding/onnx_session.h"
#include "binding/own_connections.h"
#include "binding/process_group.h"
#include "binding/products.h"
#include "binding/stacks.h"
#include "operators/product/panels.h"
#include "reduce/kernels.h"

namespace ringrun {
namespace {

Napi::Value usableCpusOf(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), usableCpus()); }

Napi::Value kernelNames(const Napi::CallbackInfo& info) {
  const auto& sets = instructionSets();
  Napi::Array names = Napi::Array::New(info.Env(), sets.size());
  for (std::uint32_t i = 0; i < sets.size(); ++i) names.Set(i, sets[i].name);
  return names;
}

const InstructionSet& setNamed(const Napi::Value& value) {
  const std::string name = value.ToString();
  for (const auto& set : instructionSets()) {
    if (name == set.name) return set;
  }
  throw Napi::Error::New(value.Env(), "kernels '" + name + "' are not available on this processor");
}

// reduceWith(kernel, dtype, op, inputs, outputs, divisor): all arrays have the same length.
void reduceWith(const Napi::CallbackInfo& info) {
  const DType dtype = dtypeOf(info[1]);
  const auto op = static_cast<ReduceOp>(info[2].ToNumber().Uint32Value());
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  Elements last{nullptr, 0, dtype, false};
  const auto dataOf = [&](const Napi::Value& value) {
    last = elementsOf(value, dtype);
    return last.data;
  };
  const auto inputArrays = info[3].As<Napi::Array>();
  const auto outputArrays = info[4].As<Napi::Array>();
  for (std::uint32_t i = 0; i < inputArrays.Length(); ++i) inputs.push_back(dataOf(inputArrays.Get(i)));
  for (std::uint32_t i = 0; i < outputArrays.Length(); ++i) outputs.push_back(dataOf(outputArrays.Get(i)));
  const ReductionKernel kernel = setNamed(info[0]).kernelFor(dtype, op);
  if (kernel == nullptr) throw Napi::Error::New(info.Env(), "this dtype does not support this op");
  kernel({inputs.data(), inputs.size(), outputs.data(), outputs.size(), static_cast<std::size_t>(last.count),
          info[5].ToNumber().Uint32Value()});
}

// Throws for dtypes that are not reduced in float32.
Conversion conversionOf(const Napi::Value& set, const Napi::Value& dtype) {
  const Conversion conversion = setNamed(set).conversionFor(dtypeOf(dtype));
  if (conversion.widen == nullptr) throw Napi::Error::New(dtype.Env(), "expected dtype float16 or bfloat16");
  return conversion;
}

// widenWith(kernel, dtype, from, to): converts as many elements as both arrays have.
void widenWith(const Napi::CallbackInfo& info) {
  const Conversion conversion = conversionOf(info[0], info[1]);
  const Elements from = elementsOf(info[2], dtypeOf(info[1]));
  const Elements to = elementsOf(info[3], DType::Float32);
  conversion.widen(static_cast<const std::uint16_t*>(from.data), static_cast<float*>(to.data), std::min(from.count, to.count));
}

// narrowWith(kernel, dtype, from, to): converts as many elements as both arrays have.
void narrowWith(const Napi::CallbackInfo& info) {
  const Conversion conversion = conversionOf(info[0], info[1]);
  const Elements from = elementsOf(info[2], DType::Float32);
  const Elements to = elementsOf(info[3], dtypeOf(info[1]));
  conversion.narrow(static_cast<const float*>(from.data), static_cast<std::uint16_t*>(to.data), std::min(from.count, to.count));
}

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
  exports.Set("kernelNames", Napi::Function::New(env, kernelNames));
  exports.Set("reduceWith", Napi::Function::New(env, reduceWith));
  exports.Set("widenWith", Napi::Function::New(env, widenWith));
  exports.Set("narrowWith", Napi::Function::New(env, narrowWith));
  defineImages(env, exports);
  exports.Set("jointNorm", Napi::Function::New(env, jointNormOf));
  exports.Set("scaleArrays", Napi::Function::New(env, scaleArraysOf));
  exports.Set("clampArrays", Napi::Function::New(env, clampArraysOf));
  exports.Set("productKernelNames", Napi::Function::New(env, productKernelNames));
  exports.Set("multiplyPanelsWith", Napi::Function::New(env, multiplyPanelsWith));
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
  exports.Set("mapFile", Napi::Function::New(env, mapFile));
  return exports;
}

}  // namespace
}  // namespace ringrun

Napi::Object initialize(Napi::Env env, Napi::Object exports) { return ringrun::initialize(env, exports); }

NODE_API_MODULE(ringrun, initialize)
