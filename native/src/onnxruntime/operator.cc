#include "onnxruntime/operator.h"

#include "onnxruntime/library.h"

namespace ringrun::ort {
namespace {

template <typename Function, typename... Arguments>
void call(const Table* api, Arguments... arguments) {
  Status* const status = Function::call(api, arguments...);
  if (status == nullptr) return;
  const std::string message = GetErrorMessage::call(api, status);
  ReleaseStatus::call(api, status);
  throw Error(message);
}

// Calls read(info) with type and shape of an array.
template <typename Read>
auto readInfo(const Table* api, const Value* value, const Read& read) {
  ShapeInfo* info = nullptr;
  call<GetTensorTypeAndShape>(api, value, &info);
  const auto release = [api](ShapeInfo* given) { ReleaseShapeInfo::call(api, given); };
  const std::unique_ptr<ShapeInfo, decltype(release)> owned(info, release);
  return read(static_cast<const ShapeInfo*>(info));
}

Shape shapeOf(const Table* api, const ShapeInfo* info) {
  Shape shape;
  call<GetDimensionsCount>(api, info, &shape.axes);
  if (shape.axes > kMaxAxes) throw Error("expected at most " + std::to_string(kMaxAxes) + " dimensions, got " + std::to_string(shape.axes));
  call<GetDimensions>(api, info, shape.sizes.data(), shape.axes);
  return shape;
}

}  // namespace

std::size_t Shape::count() const {
  std::size_t product = 1;
  for (std::size_t axis = 0; axis < axes; ++axis) product *= static_cast<std::size_t>(sizes[axis]);
  return product;
}

bool Shape::operator==(const Shape& other) const {
  if (axes != other.axes) return false;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (sizes[axis] != other.sizes[axis]) return false;
  }
  return true;
}

std::string describe(const Shape& shape) {
  std::string text = "[";
  for (std::size_t axis = 0; axis < shape.axes; ++axis) text += (axis == 0 ? "" : ",") + std::to_string(shape.sizes[axis]);
  return text + "]";
}

std::int64_t Attributes::integer(const char* name) const {
  std::int64_t value = 0;
  call<KernelInfoGetAttributeInt64>(api_, info_, name, &value);
  return value;
}

float Attributes::number(const char* name) const {
  float value = 0;
  call<KernelInfoGetAttributeFloat>(api_, info_, name, &value);
  return value;
}

std::vector<std::int64_t> Attributes::integers(const char* name) const {
  std::size_t count = 0;
  call<KernelInfoGetAttributeArrayInt64>(api_, info_, name, static_cast<std::int64_t*>(nullptr), &count);
  std::vector<std::int64_t> values(count);
  if (count > 0) call<KernelInfoGetAttributeArrayInt64>(api_, info_, name, values.data(), &count);
  return values;
}

std::size_t Computation::inputCount() const {
  std::size_t count = 0;
  call<KernelContextGetInputCount>(api_, context_, &count);
  return count;
}

std::size_t Computation::outputCount() const {
  std::size_t count = 0;
  call<KernelContextGetOutputCount>(api_, context_, &count);
  return count;
}

float Computation::number(std::size_t index) const {
  const Array<const float> found = input<float>(index);
  if (!found || found.count() != 1) failShape(index, Shape{}, found ? describe(found.shape) : "nothing");
  return *found.data;
}

int Computation::elementType(std::size_t index) const {
  const Value* const value = valueAt(index);
  if (value == nullptr) return kAnyType;
  return readInfo(api_, value, [this](const ShapeInfo* info) {
    int type = kAnyType;
    call<GetTensorElementType>(api_, info, &type);
    return type;
  });
}

// Null if the input is missing: a node may omit its last optional arguments, or leave their names empty.
const Value* Computation::valueAt(std::size_t index) const {
  if (index >= inputCount()) return nullptr;
  const Value* value = nullptr;
  call<KernelContextGetInput>(api_, context_, index, &value);
  return value;
}

Computation::Found Computation::inputAt(std::size_t index) const {
  const Value* const value = valueAt(index);
  if (value == nullptr) return {nullptr, {}};
  const Shape shape = readInfo(api_, value, [this](const ShapeInfo* info) { return shapeOf(api_, info); });
  void* data = nullptr;
  call<GetTensorMutableData>(api_, const_cast<Value*>(value), &data);
  // The library may pass no address for an array of 0 elements.
  static std::uint8_t nothing;
  return {data == nullptr ? &nothing : data, shape};
}

void* Computation::outputAt(std::size_t index, const Shape& shape) const {
  if (index >= outputCount()) return nullptr;
  Value* value = nullptr;
  call<KernelContextGetOutput>(api_, context_, index, shape.sizes.data(), shape.axes, &value);
  if (value == nullptr) return nullptr;
  void* data = nullptr;
  call<GetTensorMutableData>(api_, value, &data);
  return data;
}

void Computation::run(void (*body)(void*, std::size_t), std::size_t total, void* data) const {
  if (total > 0) call<KernelContextParallelFor>(api_, static_cast<const KernelContext*>(context_), body, total, std::size_t{0}, data);
}

void Computation::failShape(std::size_t index, const Shape& expected, const std::string& found) const {
  throw Error("input " + std::to_string(index) + ": expected the shape " + describe(expected) + ", got " + found);
}

Status* failure(const Table* api, const char* operatorName, const std::exception& error) {
  return CreateStatus::call(api, kFailure, (std::string(operatorName) + ": " + error.what()).c_str());
}

}  // namespace ringrun::ort
