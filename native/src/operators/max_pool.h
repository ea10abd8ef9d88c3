#pragma once

#include <cstddef>
#include <cstdint>

namespace ringrun {

// The windows that tile one channel of images [W, C, H, N], and the results [w, C, h, N]. Pointers are to the
// channel's first element.
struct PoolWindows {
  std::size_t rows;  // of a window
  std::size_t columns;
  std::size_t high;  // windows of a column
  std::size_t wide;  // windows of a row
  std::size_t channels;
  std::size_t batch;

  std::size_t imageColumn() const { return channels * rows * high * batch; }
  std::size_t resultColumn() const { return channels * high * batch; }
};

// The place of a window's maximum in the window, row-major; rows·columns where the relu is flat. One byte for each result, in
// rows of placesOfRow(N) bytes instead of N.
using Place = std::uint8_t;
constexpr std::size_t kMaxPlaces = 255;

std::size_t placesOfRow(std::size_t batch);

// y = max of each window + bias, and its relu. The maximum is the first of equal elements, or the last NaN. Arrays
// are float32 (T is float) or bfloat16 (std::uint16_t).
template <typename T>
struct PooledChannel {
  const T* x;
  float bias;
  bool activates;  // if false, without the relu
  T* y;           // null: not written
  Place* places;  // likewise
};

template <typename T>
void poolChannel(const PoolWindows& windows, const PooledChannel<T>& channel);

template <typename T>
struct PooledChannelGradient {
  const T* dy;
  const Place* places;
  T* dx;  // null: not written
};

// Writes dy to the places of the maxima, and 0 to the others. Returns the gradient of the bias.
template <typename T>
double differentiatePool(const PoolWindows& windows, const PooledChannelGradient<T>& channel);

}  // namespace ringrun
