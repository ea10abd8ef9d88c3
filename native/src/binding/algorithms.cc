#include "binding/algorithms.h"

#include <string>

#include "binding/elements.h"

namespace ringrun {

std::optional<Algorithm> algorithmOf(const Napi::Value& name) {
  const std::string text = name.ToString();
  if (text.empty()) return std::nullopt;
  const auto algorithm = algorithmNamed(text);
  if (!algorithm) throw Napi::TypeError::New(name.Env(), "unknown algorithm '" + text + "'");
  return algorithm;
}

Medium mediumNamed(const std::string& name) {
  if (name == "shm") return Medium::SharedMemory;
  return name == "loopback" ? Medium::Loopback : Medium::Tcp;
}

Napi::Value algorithmNamesOf(const Napi::CallbackInfo& info) {
  Napi::Array names = Napi::Array::New(info.Env());
  std::uint32_t i = 0;
  for (const auto& name : algorithmNames()) names.Set(i++, name);
  return names;
}

Napi::Value chooseAlgorithmOf(const Napi::CallbackInfo& info) {
  AlgorithmInput input;
  input.op = static_cast<Op>(info[0].As<Napi::Number>().Uint32Value());
  input.medium = mediumNamed(info[1].ToString());
  input.dtype = dtypeOf(info[2]);
  input.bytes = static_cast<std::uint64_t>(info[3].As<Napi::Number>().Int64Value());
  input.ranks = info[4].As<Napi::Number>();
  return Napi::String::New(info.Env(), nameOf(chooseAlgorithm(input, algorithmOf(info[5]))));
}

}  // namespace ringrun
