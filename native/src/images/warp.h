#pragma once

#include <cstdint>

#include "images/image_size.h"

namespace ringrun {

// Pixel (x, y) of the result shows the image at (a x + b y + c, d x + e y + f), in pixels from the image's center: the inverse
// matrix of torchvision's affine and rotate.
struct WarpMatrix {
  double a, b, c, d, e, f;
};

// Writes an image of the same size. `fill`: one level for each channel, for pixels outside the image. As torch's grid_sample, in
// float32; bilinear, the edges of the image blend with `fill`.
void warp(const std::uint8_t* image, const ImageSize& size, const WarpMatrix& matrix, bool isBilinear, const float* fill,
          std::uint8_t* to);

}  // namespace ringrun
