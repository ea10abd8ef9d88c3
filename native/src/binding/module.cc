#include <napi.h>

#include <vector>

#include "base/usable_cpus.h"
#include "binding/elements.h"
#include "binding/process_group.h"
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

ReductionKernel kernelNamed(const std::string& name, DType dtype, ReduceOp op) {
  for (const auto& set : instructionSets()) {
    if (name == set.name) return set.kernelFor(dtype, op);
  }
  return nullptr;
}

// reduceWith(kernel, dtype, op, inputs, outputs, divisor): arrays of one length.
void reduceWith(const Napi::CallbackInfo& info) {
  const DType dtype = dtypeOf(info[1]);
  const auto op = static_cast<ReduceOp>(info[2].ToNumber().Uint32Value());
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  Elements last{nullptr, 0, dtype};
  const auto dataOf = [&](const Napi::Value& value) {
    last = elementsOf(value, dtype);
    return last.data;
  };
  const auto inputArrays = info[3].As<Napi::Array>();
  const auto outputArrays = info[4].As<Napi::Array>();
  for (std::uint32_t i = 0; i < inputArrays.Length(); ++i) inputs.push_back(dataOf(inputArrays.Get(i)));
  for (std::uint32_t i = 0; i < outputArrays.Length(); ++i) outputs.push_back(dataOf(outputArrays.Get(i)));
  const std::string name = info[0].ToString();
  const ReductionKernel kernel = kernelNamed(name, dtype, op);
  if (kernel == nullptr) throw Napi::Error::New(info.Env(), "no kernel '" + name + "' for this op, dtype and processor");
  kernel({inputs.data(), inputs.size(), outputs.data(), outputs.size(), static_cast<std::size_t>(last.count),
          info[5].ToNumber().Uint32Value()});
}

Napi::Object initialize(Napi::Env env, Napi::Object exports) {
  exports.Set("ProcessGroup", ProcessGroup::define(env));
  exports.Set("usableCpus", Napi::Function::New(env, usableCpusOf));
  exports.Set("kernelNames", Napi::Function::New(env, kernelNames));
  exports.Set("reduceWith", Napi::Function::New(env, reduceWith));
  return exports;
}

}  // namespace
}  // namespace ringrun

Napi::Object initialize(Napi::Env env, Napi::Object exports) { return ringrun::initialize(env, exports); }

NODE_API_MODULE(ringrun, initialize)
