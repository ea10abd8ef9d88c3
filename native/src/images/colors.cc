#include "images/colors.h"

#include <algorithm>
#include <array>
#include <cstddef>

// Except in `fused`.
#include "images/uncontracted.h"

namespace ringrun {
namespace {

constexpr std::size_t kLevels = 256;

// factor * value + start, rounded once. The product is exact in double precision.
float fused(float factor, float value, float start) {
  return static_cast<float>(static_cast<double>(factor) * static_cast<double>(value) + static_cast<double>(start));
}

std::uint8_t byteOf(float value) { return static_cast<std::uint8_t>(static_cast<int>(std::clamp(value, 0.0F, 255.0F))); }

float grayOf(std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
  const float sum = fused(0.114F, blue, fused(0.587F, green, static_cast<float>(red) * 0.2989F));
  return static_cast<float>(static_cast<int>(sum));
}

// torchvision's _blend: factor * level + (1 - factor) * other.
struct Blend {
  float factor, rest;

  explicit Blend(double ratio) : factor(static_cast<float>(ratio)), rest(static_cast<float>(1.0 - ratio)) {}
  std::uint8_t of(std::uint8_t level, float other) const {
    return byteOf(fused(rest, other, static_cast<float>(level) * factor));
  }
};

template <typename Change>
void changeLevels(std::uint8_t* image, std::size_t count, const Change& change) {
  std::array<std::uint8_t, kLevels> levels;
  for (std::size_t i = 0; i < kLevels; ++i) levels[i] = change(static_cast<std::uint8_t>(i));
  for (std::size_t i = 0; i < count; ++i) image[i] = levels[image[i]];
}

// The sum of integers is exact, as torch's up to 2^24: for each image of at most 65,793 pixels.
float meanGray(const std::uint8_t* image, const ImageSize& size) {
  const std::size_t plane = size.plane();
  std::uint64_t sum = 0;
  if (size.channels == 1) {
    for (std::size_t i = 0; i < plane; ++i) sum += image[i];
  } else {
    for (std::size_t i = 0; i < plane; ++i)
      sum += static_cast<std::uint64_t>(grayOf(image[i], image[plane + i], image[2 * plane + i]));
  }
  return static_cast<float>(sum) / static_cast<float>(plane);
}

void saturate(std::uint8_t* image, std::size_t plane, const Blend& blend) {
  std::uint8_t* const red = image;
  std::uint8_t* const green = image + plane;
  std::uint8_t* const blue = green + plane;
  for (std::size_t i = 0; i < plane; ++i) {
    const float gray = grayOf(red[i], green[i], blue[i]);
    red[i] = blend.of(red[i], gray);
    green[i] = blend.of(green[i], gray);
    blue[i] = blend.of(blue[i], gray);
  }
}

void makeGray(std::uint8_t* image, std::size_t plane) {
  for (std::size_t i = 0; i < plane; ++i)
    image[i] = static_cast<std::uint8_t>(grayOf(image[i], image[plane + i], image[2 * plane + i]));
  std::copy_n(image, plane, image + plane);
  std::copy_n(image, plane, image + 2 * plane);
}

struct Hsv {
  float hue, saturation, value;
};

Hsv hsvOf(float red, float green, float blue) {
  const float most = std::max({red, green, blue});
  const float range = most - std::min({red, green, blue});
  const bool isGray = range == 0;
  const float divisor = isGray ? 1 : range;
  const float r = (most - red) / divisor;
  const float g = (most - green) / divisor;
  const float b = (most - blue) / divisor;
  float hue;
  if (most == red) {
    hue = b - g;
  } else if (most == green) {
    hue = (r + 2.0F) - b;
  } else {
    hue = (g + 4.0F) - r;
  }
  const float turns = hue * static_cast<float>(1.0 / 6.0) + 1.0F;
  // From 0.8 to 1.9, so this is fmod(turns, 1).
  return {turns >= 1 ? turns - 1 : turns, range / (isGray ? 1 : most), most};
}

std::uint8_t levelOf(float value) { return static_cast<std::uint8_t>(static_cast<int>(value * (255.0F + 1.0F - 1e-3F))); }

// Sectors of 60 degrees: the value (0), and the three smaller numbers p, q and t (1 to 3) of red, green and blue.
constexpr int kSectors[6][3] = {{0, 3, 1}, {2, 0, 1}, {1, 0, 3}, {1, 2, 0}, {3, 1, 0}, {0, 1, 2}};

void turnHue(std::uint8_t* image, std::size_t plane, float turn) {
  std::array<float, kLevels> shares;
  for (std::size_t i = 0; i < kLevels; ++i) shares[i] = static_cast<float>(i) * static_cast<float>(1.0 / 255.0);
  for (std::size_t i = 0; i < plane; ++i) {
    const Hsv hsv = hsvOf(shares[image[i]], shares[image[plane + i]], shares[image[2 * plane + i]]);
    // torch's remainder by 1, for numbers from -0.5 to 1.5.
    float hue = hsv.hue + turn;
    if (hue >= 1) hue -= 1;
    if (hue < 0) hue += 1;
    const float sixths = hue * 6.0F;
    const auto sector = static_cast<int>(sixths);
    const float share = hsv.saturation * (sixths - static_cast<float>(sector));
    const float rest = 1.0F - hsv.saturation;
    const auto limited = [](float number) { return std::clamp(number, 0.0F, 1.0F); };
    const float numbers[4] = {hsv.value, limited(rest * hsv.value), limited((1.0F - share) * hsv.value),
                              limited((share + rest) * hsv.value)};
    const int* const chosen = kSectors[sector % 6];
    for (std::size_t channel = 0; channel < 3; ++channel) image[channel * plane + i] = levelOf(numbers[chosen[channel]]);
  }
}

}  // namespace

void adjustColors(std::uint8_t* image, const ImageSize& size, ColorOperation operation, double factor) {
  if (operation == ColorOperation::Brightness) {
    const auto scale = static_cast<float>(factor);
    changeLevels(image, size.elements(), [&](std::uint8_t level) { return byteOf(static_cast<float>(level) * scale); });
    return;
  }
  const Blend blend(factor);
  if (operation == ColorOperation::Contrast) {
    const float mean = meanGray(image, size);
    changeLevels(image, size.elements(), [&](std::uint8_t level) { return blend.of(level, mean); });
    return;
  }
  if (size.channels == 1) return;
  if (operation == ColorOperation::Saturation) saturate(image, size.plane(), blend);
  if (operation == ColorOperation::Hue) turnHue(image, size.plane(), static_cast<float>(factor));
  if (operation == ColorOperation::Gray) makeGray(image, size.plane());
}

}  // namespace ringrun
