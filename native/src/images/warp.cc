#include "images/warp.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace ringrun {
namespace {

// To the nearest integer, ties to even, for numbers below 2^22.
float rounded(float value) {
  constexpr float kShift = 12582912.0F;  // 1.5 * 2^23
  return (value + kShift) - kShift;
}

// One row of the matrix: a coordinate from -1 to 1, where torch normalizes it, and then in pixels of the image.
struct Axis {
  float x, y, shift, half;

  Axis(double ofX, double ofY, double ofBoth, std::size_t length)
      : x(static_cast<float>(ofX) / halfOf(length)),
        y(static_cast<float>(ofY) / halfOf(length)),
        shift(static_cast<float>(ofBoth) / halfOf(length)),
        half(halfOf(length)) {}

  static float halfOf(std::size_t length) { return static_cast<float>(0.5 * static_cast<double>(length)); }
  float at(float column, float row) const { return (column * x + row * y + shift + 1.0F) * half - 0.5F; }
};

// Positions outside (-1, length) show nothing of the image. False for NaN.
bool isNear(float position, std::size_t length) { return position > -1.0F && position < static_cast<float>(length); }

// A pixel of the four around a position.
struct Corner {
  std::ptrdiff_t column, row;
  float weight;
};

struct Sampler {
  const std::uint8_t* image;
  const ImageSize& size;
  const float* fill;
  std::uint8_t* to;

  bool contains(std::ptrdiff_t column, std::ptrdiff_t row) const {
    return column >= 0 && row >= 0 && column < static_cast<std::ptrdiff_t>(size.width) &&
           row < static_cast<std::ptrdiff_t>(size.height);
  }
  std::size_t offset(std::ptrdiff_t column, std::ptrdiff_t row) const {
    return static_cast<std::size_t>(row) * size.width + static_cast<std::size_t>(column);
  }
  void write(std::size_t pixel, std::size_t channel, float level) const {
    to[channel * size.plane() + pixel] = static_cast<std::uint8_t>(std::clamp(rounded(level), 0.0F, 255.0F));
  }

  void nearest(std::size_t pixel, float column, float row) const {
    const bool isInside = isNear(column, size.width) && isNear(row, size.height);
    const auto x = isInside ? static_cast<std::ptrdiff_t>(rounded(column)) : -1;
    const auto y = isInside ? static_cast<std::ptrdiff_t>(rounded(row)) : -1;
    const bool shows = contains(x, y);
    for (std::size_t channel = 0; channel < size.channels; ++channel) {
      if (shows) {
        to[channel * size.plane() + pixel] = image[channel * size.plane() + offset(x, y)];
      } else {
        write(pixel, channel, fill[channel]);
      }
    }
  }

  void bilinear(std::size_t pixel, float column, float row) const {
    const bool isInside = isNear(column, size.width) && isNear(row, size.height);
    const float left = isInside ? std::floor(column) : -2.0F;
    const float top = isInside ? std::floor(row) : -2.0F;
    const auto x = static_cast<std::ptrdiff_t>(left);
    const auto y = static_cast<std::ptrdiff_t>(top);
    const float west = isInside ? column - left : 0;
    const float north = isInside ? row - top : 0;
    const Corner corners[4] = {{x, y, (1 - west) * (1 - north)},
                               {x + 1, y, west * (1 - north)},
                               {x, y + 1, (1 - west) * north},
                               {x + 1, y + 1, west * north}};
    float covered = 0;
    for (const Corner& corner : corners) covered += contains(corner.column, corner.row) ? corner.weight : 0;
    for (std::size_t channel = 0; channel < size.channels; ++channel) {
      float level = 0;
      for (const Corner& corner : corners) {
        if (!contains(corner.column, corner.row)) continue;
        level += corner.weight * static_cast<float>(image[channel * size.plane() + offset(corner.column, corner.row)]);
      }
      write(pixel, channel, (level - fill[channel]) * covered + fill[channel]);
    }
  }
};

}  // namespace

void warp(const std::uint8_t* image, const ImageSize& size, const WarpMatrix& matrix, bool isBilinear, const float* fill,
          std::uint8_t* to) {
  const Axis across(matrix.a, matrix.b, matrix.c, size.width);
  const Axis down(matrix.d, matrix.e, matrix.f, size.height);
  const Sampler sampler{image, size, fill, to};
  const float left = (1.0F - static_cast<float>(size.width)) * 0.5F;
  const float top = (1.0F - static_cast<float>(size.height)) * 0.5F;
  std::size_t pixel = 0;
  for (std::size_t y = 0; y < size.height; ++y) {
    const float row = top + static_cast<float>(y);
    for (std::size_t x = 0; x < size.width; ++x, ++pixel) {
      const float column = left + static_cast<float>(x);
      if (isBilinear) {
        sampler.bilinear(pixel, across.at(column, row), down.at(column, row));
      } else {
        sampler.nearest(pixel, across.at(column, row), down.at(column, row));
      }
    }
  }
}

}  // namespace ringrun
