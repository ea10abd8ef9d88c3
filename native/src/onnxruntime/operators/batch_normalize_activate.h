#pragma once

#include <array>
#include <cmath>
#include <string>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "onnxruntime/operators/rows.h"
#include "operators/batch_normalization.h"

namespace ringrun::ort {

// The channels of [N, C, …]: the second axis.
struct Channels {
  std::size_t count;
  ChannelRuns runs;
  Shape perChannel;
  std::size_t flagWords;
  Shape flags;  // of int64, two words each

  explicit Channels(const Shape& shape) : count(0), runs{1, 1, 1}, flagWords(0) {
    if (shape.axes < 2) throw Error("expected at least 2 dimensions, got " + describe(shape));
    const auto sizeOf = [&](std::size_t axis) { return static_cast<std::size_t>(shape.sizes[axis]); };
    count = sizeOf(1);
    runs.outer = sizeOf(0);
    for (std::size_t axis = 2; axis < shape.axes; ++axis) runs.inner *= sizeOf(axis);
    runs.stride = count * runs.inner;
    perChannel = {1, {shape.sizes[1]}};
    flagWords = flagWordsOf(runs);
    flags = {2, {shape.sizes[1], static_cast<std::int64_t>(flagWords / 2)}};
  }

  std::size_t elements() const { return runs.outer * runs.inner; }

  // Calls body(channel, offset of its first element) for all channels, on the threads of the session. A channel is read
  // twice in succession, so the second time it is in the cache if it fits.
  template <typename Body>
  void forEach(const Computation& computation, const Body& body) const {
    if (elements() == 0) throw Error("expected at least one element per channel");
    forEachRow(computation, count, elements(), [&](std::size_t channel) { body(channel, channel * runs.inner); });
  }
};

inline double inverseDeviation(float variance, float epsilon) {
  return 1 / std::sqrt(static_cast<double>(variance) + static_cast<double>(epsilon));
}

// (x − mean) / √(variance + epsilon)·weight + bias + residual, with mean and variance of each channel over all other axes, and
// its relu.
//
// Inputs: x [N,C,…], weight and bias [C], optional residual of x's shape. Outputs, each optional: the result; mean and biased
// variance [C]; if `activates`, flags where the result is at most 0 before the relu (kFlagWords), [C,F] as int64. Attributes: epsilon; activates, 1 for the relu.
template <typename T>
struct BatchNormalizeActivate {
  static constexpr const char* kName = "BatchNormalizeActivate";
  static constexpr std::array kInputs = {Argument{kTypeOf<T>}, Argument{kFloat32}, Argument{kFloat32}, Argument{kTypeOf<T>, kOptional}};
  static constexpr std::array kOutputs = {Argument{kTypeOf<T>, kOptional}, Argument{kFloat32, kOptional}, Argument{kFloat32, kOptional},
                                          Argument{kInt64, kOptional}};
  static constexpr std::array kInPlace = {Sharing{3, 0}, Sharing{0, 0}};

  explicit BatchNormalizeActivate(const Attributes& attributes)
      : epsilon_(attributes.number("epsilon")), activates_(attributes.integer("activates") != 0) {}

  void compute(Computation& computation) const {
    const auto x = computation.input<T>(0);
    const Channels channels(x.shape);
    const auto weight = computation.input<float>(1, channels.perChannel);
    const auto bias = computation.input<float>(2, channels.perChannel);
    const T* const residual = computation.optionalInput<T>(3, x.shape);
    T* const y = computation.output<T>(0, x.shape);
    float* const mean = computation.output<float>(1, channels.perChannel);
    float* const variance = computation.output<float>(2, channels.perChannel);
    std::uint32_t* const flat = activates_ ? computation.output<std::uint32_t>(3, channels.flags) : nullptr;
    channels.forEach(computation, [&](std::size_t channel, std::size_t at) {
      const ChannelStatistics statistics = statisticsOf(channels.runs, x.data + at);
      if (mean != nullptr) mean[channel] = statistics.mean;
      if (variance != nullptr) variance[channel] = statistics.variance;
      if (y == nullptr) return;
      const auto inverse = static_cast<float>(inverseDeviation(statistics.variance, epsilon_));
      normalizeChannel(channels.runs, ChannelNormalization<T>{x.data + at, elementsFrom(residual, at), statistics.mean,
                                       inverse * weight.data[channel], bias.data[channel], activates_, y + at,
                                       elementsFrom(flat, channel * channels.flagWords)});
    });
  }

 private:
  float epsilon_;
  bool activates_;
};

// Inputs: gradient of the result, x, mean, variance, weight; optional: the flags of the relu, another gradient of the result
// that is added, gradients of mean and variance. Outputs, each optional: the gradients of x, weight, bias and residual.
// Attributes: epsilon.
//
// With g the gradient before the relu, n elements per channel, c = x − mean, s = √(variance + epsilon) and sums over a channel:
// dx = w/s·(g − Σg/n − c·Σ(g·c)/(n·s²)) + dMean/n + 2·c·dVariance/n.
template <typename T>
struct BatchNormalizeActivateGradient {
  static constexpr const char* kName = "BatchNormalizeActivateGradient";
  static constexpr std::array kInputs = {Argument{kTypeOf<T>},            Argument{kTypeOf<T>},          Argument{kFloat32},
                                         Argument{kFloat32},              Argument{kFloat32},            Argument{kInt64, kOptional},
                                         Argument{kTypeOf<T>, kOptional}, Argument{kFloat32, kOptional}, Argument{kFloat32, kOptional}};
  static constexpr std::array kOutputs = {Argument{kTypeOf<T>, kOptional}, Argument{kFloat32, kOptional}, Argument{kFloat32, kOptional},
                                          Argument{kTypeOf<T>, kOptional}};
  // The gradient of the residual is the sum of the gradients; the last reader of x is often its gradient.
  static constexpr std::array kInPlace = {Sharing{1, 0}, Sharing{0, 0}, Sharing{6, 0}, Sharing{0, 3}, Sharing{6, 3}};

  explicit BatchNormalizeActivateGradient(const Attributes& attributes) : epsilon_(attributes.number("epsilon")) {}

  void compute(Computation& computation) const {
    const auto x = computation.input<T>(1);
    const Channels channels(x.shape);
    const auto dy = computation.input<T>(0, x.shape);
    const auto mean = computation.input<float>(2, channels.perChannel);
    const auto variance = computation.input<float>(3, channels.perChannel);
    const auto weight = computation.input<float>(4, channels.perChannel);
    const auto* const flat = computation.optionalInput<std::uint32_t>(5, channels.flags);
    const auto* const other = computation.optionalInput<T>(6, x.shape);
    const auto* const dMean = computation.optionalInput<float>(7, channels.perChannel);
    const auto* const dVariance = computation.optionalInput<float>(8, channels.perChannel);
    T* const dx = computation.output<T>(0, x.shape);
    float* const dWeight = computation.output<float>(1, channels.perChannel);
    float* const dBias = computation.output<float>(2, channels.perChannel);
    T* const dResidual = computation.output<T>(3, x.shape);
    const auto count = static_cast<double>(channels.elements());
    channels.forEach(computation, [&](std::size_t channel, std::size_t at) {
      const T* const ownX = x.data + at;
      const std::uint32_t* const ownFlat = elementsFrom(flat, channel * channels.flagWords);
      const T* const ownOther = elementsFrom(other, at);
      T* const g = elementsFrom(dResidual, at);
      const auto [sum, dot] =
          sumsOfGradient(channels.runs, ChannelGradientSums<T>{dy.data + at, ownOther, ownFlat, ownX, mean.data[channel], g});
      const double inverse = inverseDeviation(variance.data[channel], epsilon_);
      if (dWeight != nullptr) dWeight[channel] = static_cast<float>(dot * inverse);
      if (dBias != nullptr) dBias[channel] = static_cast<float>(sum);
      if (dx == nullptr) return;
      const double scale = static_cast<double>(weight.data[channel]) * inverse;
      const double ofCentered = (dVariance == nullptr ? 0 : 2 * static_cast<double>(dVariance[channel])) - scale * dot * inverse * inverse;
      const double constant = (dMean == nullptr ? 0 : static_cast<double>(dMean[channel])) - scale * sum;
      const auto factor = [](double number) { return static_cast<float>(number); };
      differentiateChannel(channels.runs, ChannelGradient<T>{g == nullptr ? dy.data + at : g, g == nullptr ? ownOther : nullptr,
                                           g == nullptr ? ownFlat : nullptr, ownX, mean.data[channel], factor(scale),
                                           factor(ofCentered / count), factor(constant / count), dx + at});
    });
  }

 private:
  float epsilon_;
};

}  // namespace ringrun::ort
