#pragma once

#include <cstddef>
#include <cstdint>

#include "images/image_size.h"

// Converts images from bytes, channel by channel and row by row, to floats or other bytes, with a look-up table for each
// channel.

namespace ringrun {

// A view of an image: its pixel (x, y) is the image's pixel (left + x * right, top + y * down), or lies outside of it.
// `down` and `right` are 1 or -1.
struct View {
  std::ptrdiff_t top, left, down, right;
  std::size_t height, width;
};

// Value is float or std::uint8_t.
template <typename Value>
struct Tables {
  const Value* values;   // 256 for each channel, for bytes 0 to 255
  const Value* outside;  // one for each channel, for pixels outside the image
};

// Writes channels * view.height * view.width values.
template <typename Value>
void lookUp(const std::uint8_t* image, const ImageSize& size, const View& view, const Tables<Value>& tables, Value* to);

}  // namespace ringrun
