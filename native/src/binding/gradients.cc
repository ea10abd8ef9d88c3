#include "binding/gradients.h"

#include <cstdint>
#include <vector>

#include "binding/elements.h"
#include "operators/joint_norm.h"

namespace ringrun {
namespace {

// Calls body(data, count) for each of a list of Float32Arrays.
template <typename Body>
void forEachArray(const Napi::Value& list, const Body& body) {
  const auto arrays = list.As<Napi::Array>();
  for (std::uint32_t i = 0; i < arrays.Length(); ++i) {
    const Elements elements = elementsOf(arrays.Get(i), DType::Float32);
    body(static_cast<float*>(elements.data), static_cast<std::size_t>(elements.count));
  }
}

}  // namespace

Napi::Value jointNormOf(const Napi::CallbackInfo& info) {
  std::vector<JointNorm::Elements> arrays;
  forEachArray(info[0], [&](const float* data, std::size_t count) { arrays.push_back({data, count}); });
  JointNorm joint(info[1].ToNumber().DoubleValue(), arrays);
  for (std::size_t part = 0; part < joint.parts(); ++part) joint.compute(part);
  return Napi::Number::New(info.Env(), joint.norm());
}

void scaleArraysOf(const Napi::CallbackInfo& info) {
  const float factor = info[1].ToNumber().FloatValue();
  forEachArray(info[0], [&](float* data, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) data[i] *= factor;
  });
}

void clampArraysOf(const Napi::CallbackInfo& info) {
  const float most = info[1].ToNumber().FloatValue();
  forEachArray(info[0], [&](float* data, std::size_t count) {
    // NaN compares false, so it is kept.
    for (std::size_t i = 0; i < count; ++i) data[i] = data[i] > most ? most : data[i] < -most ? -most : data[i];
  });
}

}  // namespace ringrun
