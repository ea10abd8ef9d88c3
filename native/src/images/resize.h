#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "images/image_size.h"

namespace ringrun {

// A rectangle of an image, in pixels.
struct ImagePart {
  std::size_t top, left, height, width;
};

// Resizes parts of images bilinearly with antialiasing, as torch's interpolate(antialias=True) does with uint8 images: rows
// first, with weights of 16 bits, and both passes are rounded to bytes.
class Resizer {
 public:
  // All results are [channels, height, width]; both are at least 1.
  Resizer(std::size_t height, std::size_t width) : height_(height), width_(width) {}

  // `part` lies inside the image and has at least 1 pixel.
  void resize(const std::uint8_t* image, const ImageSize& size, const ImagePart& part, std::uint8_t* to);

 private:
  // Element i of the result is a weighted sum of the elements first[i] to first[i] + count[i] - 1.
  struct Weights {
    std::size_t from = 0;
    std::size_t most = 0;  // weights of an element
    int bits = 0;          // of the fraction
    std::vector<std::size_t> first, count;
    std::vector<std::int32_t> values;  // `most` for each element
  };

  static void update(Weights& weights, std::size_t from, std::size_t to);
  static void resizeRow(const std::uint8_t* row, const Weights& weights, std::size_t width, std::uint8_t* to);
  void resizeColumns(const std::uint8_t* rows, std::size_t stride, std::uint8_t* to);

  std::size_t height_, width_;
  // Kept for parts of the same size.
  Weights across_, down_;
  std::vector<std::uint8_t> rows_;
  std::vector<std::int32_t> sums_;
};

}  // namespace ringrun
