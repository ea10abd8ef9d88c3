#include "binding/elements.h"

#include <string>

#include "binding/device_memory.h"

namespace ringrun {
namespace {

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
  void* data = nullptr;
  std::size_t bytes = 0;
  if (!typedArray.IsTypedArray() || napi_get_buffer_info(typedArray.Env(), typedArray, &data, &bytes) != napi_ok) {
    throw Napi::TypeError::New(typedArray.Env(), "expected a typed array, got another value");
  }
  return {validAddress(data, bytes), bytes};
}

DType dtypeOf(const Napi::Value& number) {
  constexpr auto kLast = static_cast<std::uint32_t>(DType::BFloat16);
  std::uint32_t given = 0;
  const bool isNumber = napi_get_value_uint32(number.Env(), number, &given) == napi_ok;
  if (isNumber && given >= 1 && given <= kLast) return static_cast<DType>(given);
  throw Napi::TypeError::New(number.Env(), "dtype is " + std::string(number.ToString()) +
                                               ", expected one of nativeDType: a number from 1 to " + std::to_string(kLast));
}

Elements elementsOf(const Napi::Value& value, DType dtype) {
  // The size of the elements follows from both lengths. Asking Node-API for the type instead takes 13 ns longer, because it
  // compares the class with all classes.
  std::size_t count;
  void* data;
  const napi_status status = napi_get_typedarray_info(value.Env(), value, nullptr, &count, &data, nullptr, nullptr);
  if (status != napi_ok && isDeviceTensor(value)) return elementsOnDevice(value.As<Napi::Object>(), dtype);
  std::size_t bytes = 0;
  if (status == napi_ok) napi_get_buffer_info(value.Env(), value, nullptr, &bytes);
  if (status != napi_ok || bytes != count * bytesPerElement(dtype)) {
    const std::string given =
        status != napi_ok ? "no typed array" : "a typed array with elements of " + std::to_string(bytes / count) + " bytes";
    throw Napi::TypeError::New(value.Env(), "tensor is " + given + ", expected a typed array with elements of " +
                                                std::to_string(bytesPerElement(dtype)) + " bytes for its dtype");
  }
  return {validAddress(data, static_cast<std::size_t>(count)), count, dtype, false};
}

}  // namespace ringrun
