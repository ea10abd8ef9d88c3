#pragma once

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "onnxruntime/calls.h"
#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"

namespace ringrun::ort {

// Mean and biased variance of the values of all ranks, of C channels: a call gathers those of each rank.
//
// Inputs: mean and variance of this rank's values, of one shape; tokens. Outputs: a token; mean, variance; the number of
// values of all ranks, []. Attributes: call. It sends one array, mean, variance and count, where the caller has set the
// count; it receives the arrays of all ranks. If there are fewer than 2 values, the run fails with this call.
//
// mean = Σ n·m / N and variance = Σ n·(v + (m − mean)²) / N (Chan, Golub and LeVeque 1979, for several parts at once), in
// double precision and in the order of the ranks, which compute bit-identical results from the same bytes. Squares of differences
// do not cancel if means are large relative to deviations.
struct CombineStatistics {
  static constexpr const char* kName = "CombineStatistics";
  static constexpr std::array kInputs = {Argument{kFloat32, kVariadic}};
  static constexpr std::array kOutputs = {Argument{kFloat32}, Argument{kFloat32}, Argument{kFloat32}, Argument{kFloat32}};

  explicit CombineStatistics(const Attributes& attributes) : call_(static_cast<std::size_t>(attributes.integer("call"))) {}

  void compute(Computation& computation) const {
    const auto mean = computation.input<float>(0);
    const auto variance = computation.input<float>(1, mean.shape);
    const std::size_t channels = mean.count();
    Calls& calls = Calls::current();
    const std::size_t width = 2 * channels + 1;
    const Span sent = onlyOne(calls.sends(call_));
    const Span received = onlyOne(calls.receives(call_));
    const std::size_t ranks = received.bytes / (width * sizeof(float));
    if (sent.bytes != width * sizeof(float) || received.bytes != ranks * sent.bytes) throw Error("a call has other arrays than its node");
    auto* const own = static_cast<float*>(sent.data);
    std::memcpy(own, mean.data, channels * sizeof(float));
    std::memcpy(own + channels, variance.data, channels * sizeof(float));
    calls.run(call_);

    const auto* const all = static_cast<const float*>(received.data);
    double total = 0;
    // The mean of zero values is undefined.
    std::vector<Part> parts;
    for (const float* part = all; part < all + ranks * width; part += width) {
      const auto count = static_cast<double>(part[2 * channels]);
      if (count > 0) parts.push_back({part, part + channels, count});
      total += count;
    }
    if (total < 2) calls.refuse(call_);
    *computation.output<float>(0, {1, {1}}) = 0;
    float* const combinedMean = computation.output<float>(1, mean.shape);
    float* const combinedVariance = computation.output<float>(2, mean.shape);
    *computation.output<float>(3, Shape{}) = static_cast<float>(total);
    for (std::size_t channel = 0; channel < channels; ++channel) {
      double sum = 0;
      for (const Part& part : parts) sum += part.count * static_cast<double>(part.mean[channel]);
      const double center = sum / total;
      double spread = 0;
      for (const Part& part : parts) {
        const double distance = static_cast<double>(part.mean[channel]) - center;
        spread += part.count * (static_cast<double>(part.variance[channel]) + distance * distance);
      }
      combinedMean[channel] = static_cast<float>(center);
      combinedVariance[channel] = static_cast<float>(spread / total);
    }
  }

 private:
  // Of one rank.
  struct Part {
    const float* mean;
    const float* variance;
    double count;
  };

  static Span onlyOne(const std::vector<Span>& spans) {
    if (spans.size() != 1) throw Error("expected one array of a call, got " + std::to_string(spans.size()));
    return spans.front();
  }

  std::size_t call_;
};

}  // namespace ringrun::ort
