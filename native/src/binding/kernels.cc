#include "binding/kernels.h"

#include <algorithm>
#include <string>
#include <vector>

#include "binding/elements.h"
#include "reduce/kernels.h"
#include "reduce/quantize.h"

namespace ringrun {
namespace {

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

int bitsOf(const Napi::Value& value) {
  const int bits = value.ToNumber();
  if (bits == 8 || bits == 4) return bits;
  throw Napi::RangeError::New(value.Env(), "expected 8 or 4 bits");
}

float* floatsOf(const Napi::Value& value, std::size_t count) {
  if (value.IsUndefined()) return nullptr;
  const Elements elements = elementsOf(value, DType::Float32);
  if (elements.count == count) return static_cast<float*>(elements.data);
  throw Napi::RangeError::New(value.Env(), "expected an array of " + std::to_string(count) + " elements");
}

std::uint8_t* packedOf(const Napi::Value& value, int bits, std::size_t count) {
  const Elements bytes = elementsOf(value, DType::UInt8);
  if (bytes.count == quantizedBytes(bits, count)) return static_cast<std::uint8_t*>(bytes.data);
  throw Napi::RangeError::New(value.Env(), "expected " + std::to_string(quantizedBytes(bits, count)) + " packed bytes");
}

// quantizeWith(kernel, bits, values, divisor, error, packed)
void quantizeWith(const Napi::CallbackInfo& info) {
  const int bits = bitsOf(info[1]);
  const Elements values = elementsOf(info[2], DType::Float32);
  const auto count = static_cast<std::size_t>(values.count);
  float* const error = floatsOf(info[4], count);
  const Quantizer& quantizer = setNamed(info[0]).quantizerFor(bits);
  quantizer.quantize(static_cast<const float*>(values.data), info[3].ToNumber().Uint32Value(), error, packedOf(info[5], bits, count),
                     error, count);
}

// dequantizeWith(kernel, bits, packed, values)
void dequantizeWith(const Napi::CallbackInfo& info) {
  const int bits = bitsOf(info[1]);
  const Elements values = elementsOf(info[3], DType::Float32);
  const auto count = static_cast<std::size_t>(values.count);
  setNamed(info[0]).quantizerFor(bits).dequantize(packedOf(info[2], bits, count), static_cast<float*>(values.data), count);
}

// combineQuantizedWith(kernel, bits, count, terms, packed, error)
void combineQuantizedWith(const Napi::CallbackInfo& info) {
  const int bits = bitsOf(info[1]);
  const auto count = static_cast<std::size_t>(info[2].ToNumber().Int64Value());
  const auto list = info[3].As<Napi::Array>();
  std::vector<const std::uint8_t*> terms;
  for (std::uint32_t i = 0; i < list.Length(); ++i) terms.push_back(packedOf(list.Get(i), bits, count));
  setNamed(info[0]).quantizerFor(bits).combine(terms.data(), terms.size(), packedOf(info[4], bits, count), floatsOf(info[5], count),
                                               count);
}

}  // namespace

void defineKernels(Napi::Env env, Napi::Object exports) {
  exports.Set("kernelNames", Napi::Function::New(env, kernelNames));
  exports.Set("reduceWith", Napi::Function::New(env, reduceWith));
  exports.Set("widenWith", Napi::Function::New(env, widenWith));
  exports.Set("narrowWith", Napi::Function::New(env, narrowWith));
  exports.Set("quantizeWith", Napi::Function::New(env, quantizeWith));
  exports.Set("dequantizeWith", Napi::Function::New(env, dequantizeWith));
  exports.Set("combineQuantizedWith", Napi::Function::New(env, combineQuantizedWith));
}

}  // namespace ringrun
