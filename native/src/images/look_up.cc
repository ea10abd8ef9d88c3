#include "images/look_up.h"

#include <algorithm>

namespace ringrun {
namespace {

// Columns [first, end) of a view show the image; the other columns show the surroundings.
struct Inside {
  std::size_t first, end;
};

Inside insideOf(const View& view, std::size_t imageWidth) {
  const auto width = static_cast<std::ptrdiff_t>(view.width);
  const auto right = static_cast<std::ptrdiff_t>(imageWidth) - 1;
  // The columns of the view that show the image's first and last column.
  const std::ptrdiff_t first = view.right > 0 ? -view.left : view.left - right;
  const std::ptrdiff_t last = view.right > 0 ? right - view.left : view.left;
  const std::ptrdiff_t from = std::clamp<std::ptrdiff_t>(first, 0, width);
  return {static_cast<std::size_t>(from), static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(last + 1, from, width))};
}

// One loop for each direction, because compilers unroll constant steps.
template <typename Value>
void lookUpRow(const std::uint8_t* row, const View& view, Inside inside, const Value* values, Value* to) {
  if (view.right > 0) {
    for (std::size_t x = inside.first; x < inside.end; ++x) to[x] = values[row[view.left + static_cast<std::ptrdiff_t>(x)]];
  } else {
    for (std::size_t x = inside.first; x < inside.end; ++x) to[x] = values[row[view.left - static_cast<std::ptrdiff_t>(x)]];
  }
}

}  // namespace

template <typename Value>
void lookUp(const std::uint8_t* image, const ImageSize& size, const View& view, const Tables<Value>& tables, Value* to) {
  const Inside inside = insideOf(view, size.width);
  for (std::size_t channel = 0; channel < size.channels; ++channel) {
    const Value* values = tables.values + 256 * channel;
    const Value outside = tables.outside[channel];
    for (std::size_t y = 0; y < view.height; ++y, to += view.width) {
      const std::ptrdiff_t row = view.top + static_cast<std::ptrdiff_t>(y) * view.down;
      if (row < 0 || row >= static_cast<std::ptrdiff_t>(size.height)) {
        std::fill_n(to, view.width, outside);
        continue;
      }
      std::fill_n(to, inside.first, outside);
      lookUpRow(image + (channel * size.height + static_cast<std::size_t>(row)) * size.width, view, inside, values, to);
      std::fill(to + inside.end, to + view.width, outside);
    }
  }
}

template void lookUp(const std::uint8_t*, const ImageSize&, const View&, const Tables<float>&, float*);
template void lookUp(const std::uint8_t*, const ImageSize&, const View&, const Tables<std::uint8_t>&, std::uint8_t*);

}  // namespace ringrun
