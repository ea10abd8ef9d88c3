#include "binding/products.h"

#include <cstdint>
#include <string>
#include <vector>

#include "binding/elements.h"
#include "operators/product/panels.h"

namespace ringrun {
namespace {

constexpr std::size_t kColumns = 16;

const PanelKernels& kernelsNamed(const Napi::Value& value) {
  const std::string name = value.ToString();
  for (const PanelKernels& kernels : panelKernels()) {
    if (kernels.isHere && name == kernels.name) return kernels;
  }
  throw Napi::Error::New(value.Env(), "products with '" + name + "' are not available on this processor");
}

template <typename T>
struct Arrays {
  const T* from;
  const T* panels;
  const float* start;
  float* to;
  std::size_t rows;
  std::size_t inner;
  std::size_t count;
};

template <typename T>
void multiplyAll(const Arrays<T>& arrays, void (*multiply)(const PanelProductOf<T>&)) {
  std::vector<const T*> panels, from;
  std::vector<const float*> start;
  std::vector<float*> to;
  const std::size_t width = arrays.count * kColumns;
  for (std::size_t p = 0; p < arrays.count; ++p) panels.push_back(arrays.panels + p * arrays.inner * kColumns);
  for (std::size_t r = 0; r < arrays.rows; ++r) {
    from.push_back(arrays.from + r * arrays.inner);
    to.push_back(arrays.to + r * width);
    if (arrays.start != nullptr) start.push_back(arrays.start + r * width);
  }
  multiply({panels.data(), arrays.count, arrays.inner, from.data(), arrays.start == nullptr ? nullptr : start.data(), to.data(), arrays.rows});
}

}  // namespace

Napi::Value productKernelNames(const Napi::CallbackInfo& info) {
  Napi::Array names = Napi::Array::New(info.Env());
  for (const PanelKernels& kernels : panelKernels()) {
    if (kernels.isHere) names.Set(names.Length(), kernels.name);
  }
  return names;
}

// multiplyPanelsWith(kernel, from, panels, start, to, rows)
void multiplyPanelsWith(const Napi::CallbackInfo& info) {
  const PanelKernels& kernels = kernelsNamed(info[0]);
  const bool isHalf = info[1].IsTypedArray() && info[1].As<Napi::TypedArray>().TypedArrayType() == napi_uint16_array;
  const DType dtype = isHalf ? DType::BFloat16 : DType::Float32;
  const Elements from = elementsOf(info[1], dtype), panels = elementsOf(info[2], dtype), to = elementsOf(info[4], DType::Float32);
  const float* const start = info[3].IsUndefined() ? nullptr : static_cast<const float*>(elementsOf(info[3], DType::Float32).data);
  const std::int64_t given = info[5].ToNumber().Int64Value();
  const auto rows = static_cast<std::size_t>(given);
  const std::size_t inner = given < 1 ? 0 : from.count / rows;
  const std::size_t count = given < 1 ? 0 : to.count / rows / kColumns;
  const bool fits = given > 0 && rows * inner == from.count && rows * count * kColumns == to.count && count * inner * kColumns == panels.count;
  if (!fits || (isHalf && inner % 2 != 0)) throw Napi::RangeError::New(info.Env(), "the arrays do not fit " + std::to_string(given) + " rows");
  auto* const results = static_cast<float*>(to.data);
  if (isHalf) {
    multiplyAll<std::uint16_t>({static_cast<const std::uint16_t*>(from.data), static_cast<const std::uint16_t*>(panels.data), start, results, rows, inner, count},
                               kernels.multiplyHalves);
  } else {
    multiplyAll<float>({static_cast<const float*>(from.data), static_cast<const float*>(panels.data), start, results, rows, inner, count}, kernels.multiply);
  }
}

}  // namespace ringrun
