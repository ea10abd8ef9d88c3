#include "images/mix.h"

#include <algorithm>
#include <vector>

#include "images/uncontracted.h"

namespace ringrun {
namespace {

void blend(float* image, const float* before, std::size_t elements, float share, float rest) {
  for (std::size_t i = 0; i < elements; ++i) image[i] = before[i] * rest + image[i] * share;
}

void copyBox(const float* from, const ImageSize& size, const ImageBox& box, float* to) {
  for (std::size_t channel = 0; channel < size.channels; ++channel) {
    for (std::size_t y = box.top; y < box.bottom; ++y) {
      const std::size_t row = (channel * size.height + y) * size.width;
      std::copy(from + row + box.left, from + row + box.right, to + row + box.left);
    }
  }
}

}  // namespace

// From the last image to the first, so that the image before is unchanged.
void mixUp(float* images, std::size_t count, std::size_t elements, double lambda) {
  if (count == 0) return;
  const auto share = static_cast<float>(lambda);
  const auto rest = static_cast<float>(1.0 - lambda);
  float* const last = images + (count - 1) * elements;
  const std::vector<float> kept(last, last + elements);
  for (float* image = last; image != images; image -= elements) blend(image, image - elements, elements, share, rest);
  blend(images, kept.data(), elements, share, rest);
}

void cutMix(float* images, std::size_t count, const ImageSize& size, const ImageBox& box) {
  if (count == 0) return;
  const std::size_t elements = size.elements();
  float* const last = images + (count - 1) * elements;
  const std::vector<float> kept(last, last + elements);
  for (float* image = last; image != images; image -= elements) copyBox(image - elements, size, box, image);
  copyBox(kept.data(), size, box, images);
}

}  // namespace ringrun
