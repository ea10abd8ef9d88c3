#include "binding/elements.h"

#include <string>

#include "binding/device_memory.h"

namespace ringrun {
namespace {

std::size_t bytesPerElementOf(napi_typedarray_type type) {
  switch (type) {
    case napi_int8_array:
    case napi_uint8_array:
    case napi_uint8_clamped_array: return 1;
    case napi_int16_array:
    case napi_uint16_array: return 2;
    case napi_int32_array:
    case napi_uint32_array:
    case napi_float32_array: return 4;
    case napi_float64_array:
    case napi_bigint64_array:
    case napi_biguint64_array: return 8;
    // Float16Array is newer than these constants: its number in Node-API depends on the version of Node.
    default: return 2;
  }
}

bool isDeviceTensor(const Napi::Value& value) {
  return value.IsObject() && value.As<Napi::Object>().Has("deviceMemory");
}

Elements elementsOnDevice(const Napi::Object& tensor, DType dtype) {
  const DeviceMemoryObject* const memory = DeviceMemoryObject::of(tensor.Get("deviceMemory"));
  const auto offset = static_cast<std::uint64_t>(tensor.Get("byteOffset").ToNumber().Int64Value());
  const auto count = static_cast<std::uint64_t>(tensor.Get("length").ToNumber().Int64Value());
  if (memory == nullptr || memory->data() == nullptr || offset + count * bytesPerElement(dtype) > memory->bytes()) {
    throw Napi::TypeError::New(tensor.Env(), "tensor refers to GPU memory that was freed, or reaches past the end of its allocation");
  }
  return {memory->data() + offset, count, dtype, true};
}

// memcpy requires valid addresses even for 0 bytes, and an empty array may have no address.
void* validAddress(void* data, std::size_t count) {
  static std::uint8_t nothing;
  return count == 0 ? &nothing : data;
}

}  // namespace

ByteSpan bytesOf(const Napi::Value& typedArray) {
  auto type = static_cast<napi_typedarray_type>(-1);
  std::size_t count = 0;
  void* data = nullptr;
  if (napi_get_typedarray_info(typedArray.Env(), typedArray, &type, &count, &data, nullptr, nullptr) != napi_ok) {
    throw Napi::TypeError::New(typedArray.Env(), "expected a typed array, got another value");
  }
  return {validAddress(data, count), count * bytesPerElementOf(type)};
}

DType dtypeOf(const Napi::Value& number) {
  constexpr auto kLast = static_cast<std::uint32_t>(DType::BFloat16);
  const std::uint32_t given = number.IsNumber() ? number.As<Napi::Number>().Uint32Value() : 0;
  if (given >= 1 && given <= kLast) return static_cast<DType>(given);
  throw Napi::TypeError::New(number.Env(), "dtype is " + std::string(number.ToString()) +
                                               ", expected one of nativeDType: a number from 1 to " + std::to_string(kLast));
}

Elements elementsOf(const Napi::Value& value, DType dtype) {
  // Node-API does not set the type of unknown classes.
  auto type = static_cast<napi_typedarray_type>(-1);
  std::size_t count;
  void* data;
  const napi_status status = napi_get_typedarray_info(value.Env(), value, &type, &count, &data, nullptr, nullptr);
  if (status != napi_ok && isDeviceTensor(value)) return elementsOnDevice(value.As<Napi::Object>(), dtype);
  const std::size_t bytes = status == napi_ok ? bytesPerElementOf(type) : 0;
  if (bytes != bytesPerElement(dtype)) {
    const std::string given = bytes == 0 ? "no typed array" : "a typed array with elements of " + std::to_string(bytes) + " bytes";
    throw Napi::TypeError::New(value.Env(), "tensor is " + given + ", expected a typed array with elements of " +
                                                std::to_string(bytesPerElement(dtype)) + " bytes for its dtype");
  }
  return {validAddress(data, static_cast<std::size_t>(count)), count, dtype, false};
}

}  // namespace ringrun
