#include "images/resize.h"

#include <algorithm>
#include <cmath>

namespace ringrun {
namespace {

std::uint8_t rounded(std::int32_t sum, int bits) { return static_cast<std::uint8_t>(std::clamp(sum >> bits, 0, 255)); }

// The most bits of a fraction with which the largest weight fits into 16 bits.
int fractionBits(double largest) {
  int bits = 0;
  while (bits < 22 && static_cast<std::int32_t>(0.5 + largest * (1 << (bits + 1))) < (1 << 15)) ++bits;
  return bits;
}

}  // namespace

// A triangle over one pixel to each side, which is widened to the pixels that become one.
void Resizer::update(Weights& weights, std::size_t from, std::size_t to) {
  if (weights.from == from) return;
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double support = std::max(scale, 1.0);
  weights.from = from;
  weights.most = static_cast<std::size_t>(std::ceil(support)) * 2 + 1;
  weights.first.assign(to, 0);
  weights.count.assign(to, 0);
  std::vector<double> shares(to * weights.most);
  double largest = 0;
  for (std::size_t i = 0; i < to; ++i) {
    const double center = scale * (static_cast<double>(i) + 0.5);
    const auto first = static_cast<std::size_t>(std::max(center - support + 0.5, 0.0));
    const std::size_t end = std::min(static_cast<std::size_t>(center + support + 0.5), from);
    const std::size_t count = std::min(end - first, weights.most);
    double* const own = shares.data() + i * weights.most;
    double total = 0;
    for (std::size_t k = 0; k < count; ++k) {
      const double distance = std::abs((static_cast<double>(first + k) - center + 0.5) / support);
      own[k] = std::max(0.0, 1.0 - distance);
      total += own[k];
    }
    for (std::size_t k = 0; k < count && total > 0; ++k) largest = std::max(largest, own[k] /= total);
    weights.first[i] = first;
    weights.count[i] = count;
  }
  weights.bits = fractionBits(largest);
  weights.values.assign(shares.size(), 0);
  for (std::size_t i = 0; i < shares.size(); ++i)
    weights.values[i] = static_cast<std::int32_t>(shares[i] * (1 << weights.bits) + 0.5);
}

void Resizer::resizeRow(const std::uint8_t* row, const Weights& weights, std::size_t width, std::uint8_t* to) {
  for (std::size_t x = 0; x < width; ++x) {
    const std::uint8_t* const from = row + weights.first[x];
    const std::int32_t* const values = weights.values.data() + x * weights.most;
    std::int32_t sum = 1 << (weights.bits - 1);
    for (std::size_t k = 0; k < weights.count[x]; ++k) sum += values[k] * from[k];
    to[x] = rounded(sum, weights.bits);
  }
}

void Resizer::resizeColumns(const std::uint8_t* rows, std::size_t stride, std::uint8_t* to) {
  for (std::size_t y = 0; y < height_; ++y, to += width_) {
    sums_.assign(width_, 1 << (down_.bits - 1));
    for (std::size_t k = 0; k < down_.count[y]; ++k) {
      const std::int32_t value = down_.values[y * down_.most + k];
      const std::uint8_t* const row = rows + (down_.first[y] + k) * stride;
      for (std::size_t x = 0; x < width_; ++x) sums_[x] += value * row[x];
    }
    for (std::size_t x = 0; x < width_; ++x) to[x] = rounded(sums_[x], down_.bits);
  }
}

void Resizer::resize(const std::uint8_t* image, const ImageSize& size, const ImagePart& part, std::uint8_t* to) {
  update(across_, part.width, width_);
  update(down_, part.height, height_);
  rows_.resize(part.height * width_);
  for (std::size_t channel = 0; channel < size.channels; ++channel, to += height_ * width_) {
    const std::uint8_t* rows = image + (channel * size.height + part.top) * size.width + part.left;
    std::size_t stride = size.width;
    if (part.width != width_) {
      for (std::size_t y = 0; y < part.height; ++y) resizeRow(rows + y * stride, across_, width_, rows_.data() + y * width_);
      rows = rows_.data();
      stride = width_;
    }
    if (part.height != height_) {
      resizeColumns(rows, stride, to);
    } else {
      for (std::size_t y = 0; y < height_; ++y) std::copy_n(rows + y * stride, width_, to + y * width_);
    }
  }
}

}  // namespace ringrun
