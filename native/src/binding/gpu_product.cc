#include "binding/gpu_product.h"

#include "binding/gpu_values.h"

namespace ringrun {
namespace {

std::int64_t numberOr(const Napi::Value& value, std::int64_t otherwise) {
  return value.IsUndefined() ? otherwise : value.ToNumber().Int64Value();
}

// A GpuMatrix of `rows` and `columns`.
ProductMatrix matrixOf(const Napi::Value& value, std::int64_t rows, std::int64_t columns) {
  const Napi::Object object = objectOf(value);
  ProductMatrix matrix;
  matrix.at = addressOf(objectOf(object.Get("at")));
  matrix.isTransposed = object.Get("transposed").ToBoolean();
  matrix.rowStride = numberOr(object.Get("rowStride"), matrix.isTransposed ? rows : columns);
  matrix.batchStride = numberOr(object.Get("batchStride"), matrix.rowStride * (matrix.isTransposed ? columns : rows));
  return matrix;
}

ProductActivation activationOf(const Napi::Value& value) {
  if (value.IsUndefined()) return ProductActivation::None;
  const std::string name = value.ToString();
  if (name == "relu") return ProductActivation::Relu;
  if (name == "gelu") return ProductActivation::Gelu;
  throw Failure(FailureCode::System, {}, "activation: expected relu or gelu, got " + name);
}

}  // namespace

GpuDType gpuDTypeOf(const Napi::Value& value) {
  const std::string name = value.ToString();
  if (name == "float32") return GpuDType::Float32;
  if (name == "bfloat16") return GpuDType::BFloat16;
  throw Failure(FailureCode::System, {}, "dtype: expected float32 or bfloat16, got " + name);
}

std::unique_ptr<GpuCommand> productOf(const std::string& name, const Napi::Object& object, const Device& device) {
  Product product;
  product.dtype = gpuDTypeOf(object.Get("dtype"));
  product.resultDtype = object.Get("resultDtype").IsUndefined() ? product.dtype : gpuDTypeOf(object.Get("resultDtype"));
  product.allowsTf32 = object.Get("tf32").ToBoolean();
  product.m = object.Get("m").ToNumber().Int64Value();
  product.n = object.Get("n").ToNumber().Int64Value();
  product.k = object.Get("k").ToNumber().Int64Value();
  product.batch = static_cast<std::int32_t>(numberOr(object.Get("batch"), 1));
  product.left = matrixOf(object.Get("left"), product.m, product.k);
  product.right = matrixOf(object.Get("right"), product.k, product.n);
  product.result = matrixOf(object.Get("result"), product.m, product.n);
  if (!object.Get("start").IsUndefined()) product.start = matrixOf(object.Get("start"), product.m, product.n);
  if (!object.Get("bias").IsUndefined()) product.bias = addressOf(objectOf(object.Get("bias")));
  if (!object.Get("alpha").IsUndefined()) product.alpha = object.Get("alpha").ToNumber().FloatValue();
  product.activation = activationOf(object.Get("activation"));
  return std::make_unique<ProductCommand>(name, device, product);
}

}  // namespace ringrun
