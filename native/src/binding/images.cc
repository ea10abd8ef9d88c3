#include "binding/images.h"

#include <string>

#include "binding/elements.h"
#include "images/look_up.h"

namespace ringrun {
namespace {

// Numbers of a view in the array: index, top, left, step.
constexpr std::size_t kNumbersOfView = 4;

void require(const Napi::CallbackInfo& info, bool holds, const std::string& what) {
  if (!holds) throw Napi::RangeError::New(info.Env(), "lookUpImages: " + what);
}

std::size_t sizeAt(const Napi::Array& sizes, std::uint32_t position) { return sizes.Get(position).ToNumber().Uint32Value(); }

}  // namespace

void lookUpImages(const Napi::CallbackInfo& info) {
  const Elements pixels = elementsOf(info[0], DType::UInt8);
  const auto from = info[1].As<Napi::Array>();
  const ImageSize size{sizeAt(from, 0), sizeAt(from, 1), sizeAt(from, 2)};
  const Elements values = elementsOf(info[2], DType::Float32);
  const Elements outside = elementsOf(info[3], DType::Float32);
  const Elements views = elementsOf(info[4], DType::Int32);
  const auto seen = info[5].As<Napi::Array>();
  const std::size_t height = sizeAt(seen, 0);
  const std::size_t width = sizeAt(seen, 1);
  const Elements target = elementsOf(info[6], DType::Float32);

  const std::size_t bytes = size.channels * size.height * size.width;
  const std::size_t written = size.channels * height * width;
  const std::size_t count = views.count / kNumbersOfView;
  require(info, values.count == 256 * size.channels && outside.count == size.channels,
          "values and outside: expected tables for " + std::to_string(size.channels) + " channels, got " +
              std::to_string(values.count) + " and " + std::to_string(outside.count) + " elements");
  require(info, target.count == count * written, "target: expected " + std::to_string(count * written) + " elements, got " +
                                                     std::to_string(target.count));
  const Tables tables{static_cast<const float*>(values.data), static_cast<const float*>(outside.data)};
  const auto* view = static_cast<const std::int32_t*>(views.data);
  auto* to = static_cast<float*>(target.data);
  for (std::size_t i = 0; i < count; ++i, view += kNumbersOfView, to += written) {
    const auto index = static_cast<std::size_t>(view[0]);
    require(info, view[0] >= 0 && (index + 1) * bytes <= pixels.count, "image index " + std::to_string(view[0]) + " is out of range");
    require(info, view[3] == 1 || view[3] == -1, "step: expected 1 or -1, got " + std::to_string(view[3]));
    lookUp(static_cast<const std::uint8_t*>(pixels.data) + index * bytes, size, {view[1], view[2], view[3], height, width}, tables, to);
  }
}

}  // namespace ringrun
