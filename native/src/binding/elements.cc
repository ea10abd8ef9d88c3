#include "binding/elements.h"

namespace ringrun {
namespace {

DType dtypeOf(napi_typedarray_type type) {
  switch (type) {
    case napi_float32_array: return DType::Float32;
    case napi_float64_array: return DType::Float64;
    case napi_int8_array: return DType::Int8;
    case napi_uint8_array: return DType::UInt8;
    case napi_int32_array: return DType::Int32;
    case napi_uint32_array: return DType::UInt32;
    case napi_bigint64_array: return DType::Int64;
    case napi_biguint64_array: return DType::UInt64;
    default: return DType::None;
  }
}

}  // namespace

Elements elementsOf(const Napi::Value& value) {
  napi_typedarray_type type;
  std::size_t count;
  void* data;
  const napi_status status = napi_get_typedarray_info(value.Env(), value, &type, &count, &data, nullptr, nullptr);
  const DType dtype = status == napi_ok ? dtypeOf(type) : DType::None;
  if (dtype == DType::None) throw Napi::TypeError::New(value.Env(), "expected a typed array of a supported dtype");
  // An empty array may have no address, and memcpy must not be given that even for no bytes.
  static std::uint8_t nothing;
  return {count == 0 ? &nothing : data, count, dtype};
}

}  // namespace ringrun
