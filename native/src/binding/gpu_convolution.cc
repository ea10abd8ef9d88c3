#include "binding/gpu_convolution.h"

#include <vector>

#include "binding/gpu_product.h"
#include "binding/gpu_values.h"
#include "gpu/convolution_command.h"

namespace ringrun {
namespace {

std::vector<int> integersOf(const Napi::Value& value) {
  const auto list = value.As<Napi::Array>();
  std::vector<int> numbers;
  for (std::uint32_t i = 0; i < list.Length(); ++i) numbers.push_back(list.Get(i).ToNumber().Int32Value());
  return numbers;
}

// { at, shape }
ConvolutionTensor tensorOf(const Napi::Value& value) {
  const Napi::Object object = objectOf(value);
  return {addressOf(objectOf(object.Get("at"))), integersOf(object.Get("shape"))};
}

ConvolutionPass passOf(const Napi::Value& value) {
  const std::string name = value.ToString();
  if (name == "forward") return ConvolutionPass::Forward;
  if (name == "inputGradient") return ConvolutionPass::InputGradient;
  if (name == "weightGradient") return ConvolutionPass::WeightGradient;
  throw Failure(FailureCode::System, {}, "pass: expected forward, inputGradient or weightGradient, got " + name);
}

}  // namespace

std::unique_ptr<GpuCommand> convolutionOf(const std::string& name, const Napi::Object& object, const Device& device) {
  Convolution convolution;
  convolution.pass = passOf(object.Get("pass"));
  convolution.dtype = gpuDTypeOf(object.Get("dtype"));
  convolution.allowsTf32 = object.Get("tf32").ToBoolean();
  convolution.channelsLast = object.Get("layout").ToString().Utf8Value() == "nhwc";
  convolution.triesAlgorithms = object.Get("benchmark").ToBoolean();
  convolution.input = tensorOf(object.Get("input"));
  convolution.weight = tensorOf(object.Get("weight"));
  convolution.output = tensorOf(object.Get("output"));
  convolution.padding = integersOf(object.Get("padding"));
  convolution.stride = integersOf(object.Get("stride"));
  convolution.dilation = integersOf(object.Get("dilation"));
  if (!object.Get("groups").IsUndefined()) convolution.groups = object.Get("groups").ToNumber();
  return std::make_unique<ConvolutionCommand>(name, device, convolution);
}

}  // namespace ringrun
