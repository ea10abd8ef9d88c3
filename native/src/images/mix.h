#pragma once

#include <cstddef>

#include "images/image_size.h"

// torchvision's MixUp and CutMix of a batch, in place: each image is mixed with the one before it, and the first with the last.

namespace ringrun {

// Columns [left, right) and rows [top, bottom).
struct ImageBox {
  std::size_t left, top, right, bottom;
};

// lambda * image + (1 - lambda) * the image before; each product is rounded to float32.
void mixUp(float* images, std::size_t count, std::size_t elements, double lambda);

// Replaces the box of each image by that of the image before it. The box lies inside the image.
void cutMix(float* images, std::size_t count, const ImageSize& size, const ImageBox& box);

}  // namespace ringrun
