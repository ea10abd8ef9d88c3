#pragma once

#include <cstdint>

#include "images/image_size.h"

// Colour operations of torchvision.transforms.v2.functional on uint8 images, channel by channel. Results are bit-identical to
// those of torch with vector instructions (AVX2 and later, NEON), which multiply and add without rounding in between.

namespace ringrun {

enum class ColorOperation : std::uint8_t {
  Brightness = 0,  // adjust_brightness
  Contrast = 1,    // adjust_contrast
  Saturation = 2,  // adjust_saturation
  Hue = 3,         // adjust_hue, by `factor` of a turn
  Gray = 4,        // rgb_to_grayscale: the same gray in all channels; ignores `factor`
};
constexpr double kLastColorOperation = 4;

// Changes an image of 1 or 3 channels in place. Saturation, Hue and Gray leave an image of 1 channel unchanged.
void adjustColors(std::uint8_t* image, const ImageSize& size, ColorOperation operation, double factor);

}  // namespace ringrun
