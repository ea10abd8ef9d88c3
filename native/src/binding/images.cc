#include "binding/images.h"

#include <cmath>
#include <string>

#include "binding/elements.h"
#include "images/colors.h"
#include "images/look_up.h"
#include "images/mix.h"
#include "images/resize.h"
#include "images/warp.h"

namespace ringrun {
namespace {

// Limits the product of three sizes to 60 bits.
constexpr double kLargestSize = 1 << 20;

// Checks the arguments of one call. TypeScript rejects bad values earlier, so this only prevents crashes.
class ImageCall {
 public:
  ImageCall(const Napi::CallbackInfo& info, const char* name) : info_(info), name_(name) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Napi::RangeError::New(info_.Env(), std::string(name_) + ": " + what);
  }
  void require(bool holds, const std::string& what) const {
    if (!holds) fail(what);
  }

  // Numbers of a list, from 0 to kLargestSize.
  std::size_t sizeAt(std::size_t argument, std::uint32_t position) const {
    const double given = info_[argument].As<Napi::Array>().Get(position).ToNumber().DoubleValue();
    const bool isSize = given >= 0 && given <= kLargestSize && given == std::floor(given);
    if (!isSize) fail("expected a size from 0 to 1048576, got " + std::to_string(given));
    return static_cast<std::size_t>(given);
  }
  ImageSize sizeOf(std::size_t argument) const { return {sizeAt(argument, 0), sizeAt(argument, 1), sizeAt(argument, 2)}; }

  // Numbers in rows of `columns`, one row for each image. The first number of a row is an image of `pixels`.
  template <typename Number>
  std::size_t rowsOf(const Elements& numbers, std::size_t columns, const Elements& pixels, const ImageSize& size) const {
    require(numbers.count % columns == 0, "expected rows of " + std::to_string(columns) + " numbers, got " +
                                              std::to_string(numbers.count) + " numbers");
    const auto* row = static_cast<const Number*>(numbers.data);
    const std::size_t images = size.elements() == 0 ? 0 : pixels.count / size.elements();
    for (std::size_t i = 0; i < numbers.count / columns; ++i, row += columns) {
      const auto index = static_cast<double>(row[0]);
      const bool isImage = index >= 0 && index < static_cast<double>(images) && index == std::floor(index);
      if (!isImage) fail("image index " + std::to_string(row[0]) + " is out of range");
    }
    return numbers.count / columns;
  }

  void requireTarget(const Elements& target, std::size_t elements) const {
    require(target.count == elements,
            "target: expected " + std::to_string(elements) + " elements, got " + std::to_string(target.count));
  }

 private:
  const Napi::CallbackInfo& info_;
  const char* name_;
};

const std::uint8_t* imageAt(const Elements& pixels, double index, const ImageSize& size) {
  return static_cast<const std::uint8_t*>(pixels.data) + static_cast<std::size_t>(index) * size.elements();
}

bool isDirection(std::int32_t step) { return step == 1 || step == -1; }

template <typename Value>
void lookUpAs(const Napi::CallbackInfo& info, DType dtype) {
  constexpr std::size_t kColumns = 5;  // image, top, left, down, right
  const ImageCall call(info, "lookUpImages");
  const Elements pixels = elementsOf(info[0], DType::UInt8);
  const ImageSize size = call.sizeOf(1);
  const Elements values = elementsOf(info[2], dtype);
  const Elements outside = elementsOf(info[3], dtype);
  const Elements views = elementsOf(info[4], DType::Int32);
  const std::size_t height = call.sizeAt(5, 0);
  const std::size_t width = call.sizeAt(5, 1);
  const Elements target = elementsOf(info[6], dtype);

  call.require(values.count == 256 * size.channels && outside.count == size.channels,
               "values and outside: expected tables for " + std::to_string(size.channels) + " channels, got " +
                   std::to_string(values.count) + " and " + std::to_string(outside.count) + " elements");
  const std::size_t count = call.rowsOf<std::int32_t>(views, kColumns, pixels, size);
  const std::size_t written = size.channels * height * width;
  call.requireTarget(target, count * written);
  const auto* const rows = static_cast<const std::int32_t*>(views.data);
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::int32_t step : {rows[kColumns * i + 3], rows[kColumns * i + 4]})
      if (!isDirection(step)) call.fail("step: expected 1 or -1, got " + std::to_string(step));
  }
  const Tables<Value> tables{static_cast<const Value*>(values.data), static_cast<const Value*>(outside.data)};
  auto* to = static_cast<Value*>(target.data);
  for (std::size_t i = 0; i < count; ++i, to += written) {
    const std::int32_t* const row = rows + kColumns * i;
    lookUp(imageAt(pixels, row[0], size), size, {row[1], row[2], row[3], row[4], height, width}, tables, to);
  }
}

void lookUpImages(const Napi::CallbackInfo& info) {
  const bool isBytes = info[6].IsTypedArray() && info[6].As<Napi::TypedArray>().TypedArrayType() == napi_uint8_array;
  if (isBytes) {
    lookUpAs<std::uint8_t>(info, DType::UInt8);
  } else {
    lookUpAs<float>(info, DType::Float32);
  }
}

// Whether the rectangle, in pixels from the upper left corner, has pixels and none of them is outside of the image.
bool isPartOf(const std::int32_t* part, const ImageSize& size) {
  const auto isWithin = [](std::int64_t first, std::int64_t count, std::size_t length) {
    return first >= 0 && count >= 1 && first + count <= static_cast<std::int64_t>(length);
  };
  return isWithin(part[0], part[2], size.height) && isWithin(part[1], part[3], size.width);
}

void resizeImages(const Napi::CallbackInfo& info) {
  constexpr std::size_t kColumns = 5;  // image, top, left, height, width
  const ImageCall call(info, "resizeImages");
  const Elements pixels = elementsOf(info[0], DType::UInt8);
  const ImageSize size = call.sizeOf(1);
  const Elements parts = elementsOf(info[2], DType::Int32);
  const std::size_t height = call.sizeAt(3, 0);
  const std::size_t width = call.sizeAt(3, 1);
  const Elements target = elementsOf(info[4], DType::UInt8);

  call.require(height >= 1 && width >= 1, "expected a size of at least 1 x 1");
  const std::size_t count = call.rowsOf<std::int32_t>(parts, kColumns, pixels, size);
  const std::size_t written = size.channels * height * width;
  call.requireTarget(target, count * written);
  const auto* const rows = static_cast<const std::int32_t*>(parts.data);
  for (std::size_t i = 0; i < count; ++i)
    call.require(isPartOf(rows + kColumns * i + 1, size), "part: expected a rectangle of the image");
  Resizer resizer(height, width);
  auto* to = static_cast<std::uint8_t*>(target.data);
  for (std::size_t i = 0; i < count; ++i, to += written) {
    const std::int32_t* const row = rows + kColumns * i;
    const auto number = [row](std::size_t column) { return static_cast<std::size_t>(row[column]); };
    resizer.resize(imageAt(pixels, row[0], size), size, {number(1), number(2), number(3), number(4)}, to);
  }
}

void warpImages(const Napi::CallbackInfo& info) {
  constexpr std::size_t kColumns = 7;  // image, and a matrix of 2 x 3
  const ImageCall call(info, "warpImages");
  const Elements pixels = elementsOf(info[0], DType::UInt8);
  const ImageSize size = call.sizeOf(1);
  const Elements matrices = elementsOf(info[2], DType::Float64);
  const bool isBilinear = info[3].ToBoolean();
  const Elements fill = elementsOf(info[4], DType::Float32);
  const Elements target = elementsOf(info[5], DType::UInt8);

  const auto* const levels = static_cast<const float*>(fill.data);
  call.require(fill.count == size.channels, "fill: expected " + std::to_string(size.channels) + " levels, got " +
                                                std::to_string(fill.count));
  for (std::size_t i = 0; i < fill.count; ++i)
    call.require(levels[i] >= 0 && levels[i] <= 255, "fill: expected a level from 0 to 255, got " + std::to_string(levels[i]));
  const std::size_t count = call.rowsOf<double>(matrices, kColumns, pixels, size);
  call.requireTarget(target, count * size.elements());
  const auto* row = static_cast<const double*>(matrices.data);
  auto* to = static_cast<std::uint8_t*>(target.data);
  for (std::size_t i = 0; i < count; ++i, row += kColumns, to += size.elements())
    warp(imageAt(pixels, row[0], size), size, {row[1], row[2], row[3], row[4], row[5], row[6]}, isBilinear, levels, to);
}

void adjustColorsOf(const Napi::CallbackInfo& info) {
  constexpr std::size_t kColumns = 3;  // image, operation, factor
  const ImageCall call(info, "adjustColors");
  const Elements images = elementsOf(info[0], DType::UInt8);
  const ImageSize size = call.sizeOf(1);
  const Elements steps = elementsOf(info[2], DType::Float64);

  call.require(size.channels == 1 || size.channels == 3, "expected images of 1 or 3 channels, got " + std::to_string(size.channels));
  const std::size_t count = call.rowsOf<double>(steps, kColumns, images, size);
  const auto* const rows = static_cast<const double*>(steps.data);
  for (std::size_t i = 0; i < count; ++i) {
    const double operation = rows[kColumns * i + 1];
    const double factor = rows[kColumns * i + 2];
    call.require(operation >= 0 && operation <= kLastColorOperation && operation == std::floor(operation),
                 "expected an operation from 0 to 4, got " + std::to_string(operation));
    // Beyond half a turn, or as infinite products, levels would not fit into a byte.
    const bool isHue = static_cast<ColorOperation>(static_cast<int>(operation)) == ColorOperation::Hue;
    const double largest = isHue ? 0.5 : 1e6;
    call.require(std::abs(factor) <= largest, "factor: expected a number within " + std::to_string(largest) + ", got " +
                                                  std::to_string(factor));
  }
  auto* const data = static_cast<std::uint8_t*>(images.data);
  for (const double* row = rows; row != rows + kColumns * count; row += kColumns) {
    const auto operation = static_cast<ColorOperation>(static_cast<int>(row[1]));
    adjustColors(data + static_cast<std::size_t>(row[0]) * size.elements(), size, operation, row[2]);
  }
}

void mixUpImages(const Napi::CallbackInfo& info) {
  const ImageCall call(info, "mixUpImages");
  const Elements images = elementsOf(info[0], DType::Float32);
  const std::size_t count = info[1].ToNumber().Uint32Value();
  call.require(count >= 1 && images.count % count == 0, "expected " + std::to_string(count) + " images of one size, got " +
                                                            std::to_string(images.count) + " elements");
  mixUp(static_cast<float*>(images.data), count, images.count / count, info[2].ToNumber().DoubleValue());
}

void cutMixImages(const Napi::CallbackInfo& info) {
  const ImageCall call(info, "cutMixImages");
  const Elements images = elementsOf(info[0], DType::Float32);
  const ImageSize size = call.sizeOf(1);
  const ImageBox box{call.sizeAt(2, 0), call.sizeAt(2, 1), call.sizeAt(2, 2), call.sizeAt(2, 3)};
  call.require(size.elements() >= 1 && images.count % size.elements() == 0,
               "expected images of " + std::to_string(size.elements()) + " elements, got " + std::to_string(images.count));
  call.require(box.left <= box.right && box.right <= size.width && box.top <= box.bottom && box.bottom <= size.height,
               "box: expected a rectangle of the image");
  cutMix(static_cast<float*>(images.data), images.count / size.elements(), size, box);
}

}  // namespace

void defineImages(Napi::Env env, Napi::Object& exports) {
  exports.Set("lookUpImages", Napi::Function::New(env, lookUpImages));
  exports.Set("resizeImages", Napi::Function::New(env, resizeImages));
  exports.Set("warpImages", Napi::Function::New(env, warpImages));
  exports.Set("adjustColors", Napi::Function::New(env, adjustColorsOf));
  exports.Set("mixUpImages", Napi::Function::New(env, mixUpImages));
  exports.Set("cutMixImages", Napi::Function::New(env, cutMixImages));
}

}  // namespace ringrun
