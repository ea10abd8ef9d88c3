#include "binding/outer_step.h"

#include <cstddef>
#include <string>

#include "binding/elements.h"
#include "operators/outer_step.h"

namespace ringrun {
namespace {

std::size_t countOf(const Elements& elements) { return static_cast<std::size_t>(elements.count); }

float* floatsOf(const Napi::Value& array, std::size_t count) {
  const Elements elements = elementsOf(array, DType::Float32);
  if (countOf(elements) == count) return static_cast<float*>(elements.data);
  throw Napi::RangeError::New(array.Env(), "expected arrays of " + std::to_string(count) + " elements, got one of " +
                                               std::to_string(elements.count));
}

}  // namespace

void subtractFromOf(const Napi::CallbackInfo& info) {
  const Elements values = elementsOf(info[0], DType::Float32);
  subtractFrom(floatsOf(info[1], countOf(values)), static_cast<float*>(values.data), countOf(values));
}

void outerStepOf(const Napi::CallbackInfo& info) {
  const Elements parameters = elementsOf(info[0], DType::Float32);
  const std::size_t count = countOf(parameters);
  float* const velocities = info[1].IsUndefined() ? nullptr : floatsOf(info[1], count);
  const OuterStepOptions options{info[3].ToNumber().FloatValue(), info[4].ToNumber().FloatValue(), info[5].ToBoolean().Value()};
  outerStep(options, floatsOf(info[2], count), velocities, static_cast<float*>(parameters.data), count);
}

void mixOf(const Napi::CallbackInfo& info) {
  const Elements values = elementsOf(info[0], DType::Float32);
  const std::size_t count = countOf(values);
  mix(floatsOf(info[1], count), info[2].ToNumber().FloatValue(), static_cast<float*>(values.data), count);
}

}  // namespace ringrun
