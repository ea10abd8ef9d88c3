#pragma once

#include <cstddef>
#include <cstdint>

// Images as bytes, channel by channel and row by row, and as the values that models take: each is looked up in a table of its channel.

namespace ringrun {

struct ImageSize {
  std::size_t channels, height, width;
};

// What is seen of an image: pixel (x, y) is the image's pixel (left + x * step, top + y), or outside of it. `step` is 1 or -1.
struct View {
  std::ptrdiff_t top, left, step;
  std::size_t height, width;
};

struct Tables {
  const float* values;   // 256 for each channel: of bytes 0 to 255
  const float* outside;  // one for each channel: of what lies outside of the image
};

// Writes channels * view.height * view.width values.
void lookUp(const std::uint8_t* image, const ImageSize& size, const View& view, const Tables& tables, float* to);

}  // namespace ringrun
