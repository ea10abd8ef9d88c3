#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "onnxruntime/operators/rows.h"
#include "operators/vectors.h"

namespace ringrun::ort {

// The gradient of MaxPool, whose windows may overlap: each element is added at the position of its maximum, in order.
//
// Inputs: gradient of the maxima [N,C,h,w]; their positions among all elements of the images. Output: [N,C,H,W].
// Attributes: height, width.
template <typename T>
struct MaxPoolGradient {
  static constexpr const char* kName = "MaxPoolGradient";
  static constexpr std::array kInputs = {Argument{kTypeOf<T>}, Argument{kInt64}};
  static constexpr std::array kOutputs = {Argument{kTypeOf<T>}};

  explicit MaxPoolGradient(const Attributes& attributes) : height_(attributes.integer("height")), width_(attributes.integer("width")) {}

  void compute(Computation& computation) const {
    const auto d = computation.input<T>(0);
    if (d.shape.axes != 4) throw Error("expected a gradient with 4 dimensions, got " + describe(d.shape));
    const auto positions = computation.input<std::int64_t>(1, d.shape);
    T* const to = computation.output<T>(0, {4, {d.shape.sizes[0], d.shape.sizes[1], height_, width_}});
    const auto pooled = static_cast<std::size_t>(d.shape.sizes[2] * d.shape.sizes[3]);
    const auto size = static_cast<std::size_t>(height_ * width_);
    // A maximum lies in the channel of its window.
    const auto channels = static_cast<std::size_t>(d.shape.sizes[0] * d.shape.sizes[1]);
    forEachRow(computation, channels, size, [&](std::size_t channel) {
      T* const result = to + channel * size;
      // In float32, because the result is rounded once.
      thread_local std::vector<float> memory;
      float* image;
      if constexpr (std::is_same_v<T, float>) {
        image = result;
      } else {
        memory.resize(size);
        image = memory.data();
      }
      std::fill_n(image, size, 0.0f);
      for (std::size_t i = channel * pooled; i < (channel + 1) * pooled; ++i) {
        const std::size_t place = static_cast<std::size_t>(positions.data[i]) - channel * size;
        if (place >= size) throw Error("position " + std::to_string(positions.data[i]) + " is not in the channel of its window");
        image[place] += numberOf(d.data[i]);
      }
      if constexpr (!std::is_same_v<T, float>) {
        for (std::size_t k = 0; k < size; ++k) setNumber(result[k], image[k]);
      }
    });
  }

 private:
  std::int64_t height_;
  std::int64_t width_;
};

}  // namespace ringrun::ort
