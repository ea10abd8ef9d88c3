#pragma once

#include <cstddef>
#include <cstdint>

namespace ringrun {

// Arrays of activations are float32 (T is float) or bfloat16 (std::uint16_t).

// One channel of an array [outer, channels, inner]: `outer` runs of `inner` adjacent elements, `stride` elements apart.
// Offsets of arrays are those of the channel's first element, so NCHW is [N, C, H·W], and [W, C, H, N] is [W, C, H·N].
struct ChannelRuns {
  std::size_t outer;
  std::size_t stride;
  std::size_t inner;
};

struct ChannelStatistics {
  float mean;
  float variance;  // biased
};

// Flags of the elements of a channel, one bit each. The bits of 32 vectors of 16 elements are in 16 words, so that storing and
// testing one are operations of vectors. A run begins a new vector.
constexpr std::size_t kFlagWords = 16;

// Words for the flags of a channel.
std::size_t flagWordsOf(const ChannelRuns& runs);

// Reads memory once. Blocks of at most 2,048 elements are summed in float32 relative to the mean of the elements before, and
// combined in double precision (Chan, Golub and LeVeque, 1983), so a mean far from 0 does not reduce precision. The order of
// the sums depends only on the shape.
template <typename T>
ChannelStatistics statisticsOf(const ChannelRuns& runs, const T* x);

// y = (x − mean)·scale + shift + residual, and its relu.
template <typename T>
struct ChannelNormalization {
  const T* x;
  const T* residual;  // null: none
  float mean;
  float scale;
  float shift;
  bool activates;      // if false, y before the relu
  T* y;            // may be x or residual
  std::uint32_t* flat;  // flags where y ≤ 0 before the relu; null: not written
};

template <typename T>
void normalizeChannel(const ChannelRuns& runs, const ChannelNormalization<T>& channel);

// With g the gradient of (x − mean)·scale + shift + residual, the sums of g and of g·(x − mean).
template <typename T>
struct ChannelGradientSums {
  const T* dy;
  const T* other;        // added to dy; null: none
  const std::uint32_t* flat;  // null: no relu
  const T* x;
  float mean;
  T* g;  // may be dy or other; null: not written
};

struct ChannelSums {
  double sum;
  double dot;
};

template <typename T>
ChannelSums sumsOfGradient(const ChannelRuns& runs, const ChannelGradientSums<T>& channel);

// dx = g·ofGradient + (x − mean)·ofCentered + constant. With `g` written by sumsOfGradient, it is dy, and other and flat are
// null.
template <typename T>
struct ChannelGradient {
  const T* dy;
  const T* other;
  const std::uint32_t* flat;
  const T* x;
  float mean;
  float ofGradient;
  float ofCentered;
  float constant;
  T* dx;  // may be any of the arrays
};

template <typename T>
void differentiateChannel(const ChannelRuns& runs, const ChannelGradient<T>& channel);

}  // namespace ringrun
