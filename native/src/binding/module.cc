#include <napi.h>

#include <vector>

#include "base/usable_cpus.h"
#include "binding/process_group.h"
#include "reduce/kernels.h"

namespace ringrun {
namespace {

Napi::Value usableCpusOf(const Napi::CallbackInfo& info) { return Napi::Number::New(info.Env(), usableCpus()); }

Napi::Value kernelNames(const Napi::CallbackInfo& info) {
  const auto& kernels = float32Kernels();
  Napi::Array names = Napi::Array::New(info.Env(), kernels.size());
  for (std::uint32_t i = 0; i < kernels.size(); ++i) names.Set(i, kernels[i].name);
  return names;
}

// reduceWith(kernel, inputs, outputs, divisor): arrays of equal lengths.
void reduceWith(const Napi::CallbackInfo& info) {
  const std::string name = info[0].ToString();
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  std::size_t count = 0;
  const auto dataOf = [&](const Napi::Value& value) {
    auto array = value.As<Napi::Float32Array>();
    count = array.ElementLength();
    return array.Data();
  };
  const auto inputArrays = info[1].As<Napi::Array>();
  const auto outputArrays = info[2].As<Napi::Array>();
  for (std::uint32_t i = 0; i < inputArrays.Length(); ++i) inputs.push_back(dataOf(inputArrays.Get(i)));
  for (std::uint32_t i = 0; i < outputArrays.Length(); ++i) outputs.push_back(dataOf(outputArrays.Get(i)));
  for (const auto& kernel : float32Kernels()) {
    if (name != kernel.name) continue;
    kernel.run({inputs.data(), inputs.size(), outputs.data(), outputs.size(), count, info[3].ToNumber().Uint32Value()});
    return;
  }
  throw Napi::Error::New(info.Env(), "no kernel '" + name + "' on this processor");
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
