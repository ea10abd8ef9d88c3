#pragma once

#include <cstddef>
#include <cstdint>

// Converts images from bytes, channel by channel and row by row, to floats, with a look-up table for each
// channel.

namespace ringrun {

struct ImageSize {
  std::size_t channels, height, width;
};

// A view of an image: its pixel (x, y) is the image's pixel (left + x * step, top + y), or lies outside of it.
// `step` is 1 or -1.
struct View {
  std::ptrdiff_t top, left, step;
  std::size_t height, width;
};

struct Tables {
  const float* values;   // 256 for each channel, for bytes 0 to 255
  const float* outside;  // one for each channel, for pixels outside the image
};

// Writes channels * view.height * view.width values.
void lookUp(const std::uint8_t* image, const ImageSize& size, const View& view, const Tables& tables, float* to);

}  // namespace ringrun
