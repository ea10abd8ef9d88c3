#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "onnxruntime/operators/rows.h"
#include "operators/max_pool.h"

namespace ringrun::ort {

// The windows of a node, with the arrays' shapes.
struct PoolShapes {
  PoolWindows windows;
  Shape image;
  Shape result;
  Shape places;  // of int64, eight places each
  Shape perChannel;

  // Calls body(channel) for all channels, on the threads of the session.
  template <typename Body>
  void forEachChannel(const Computation& computation, const Body& body) const {
    forEachRow(computation, windows.channels, windows.wide * windows.columns * windows.high * windows.rows * windows.batch, body);
  }

  std::size_t imageAt(std::size_t channel) const { return channel * windows.high * windows.rows * windows.batch; }
  std::size_t resultAt(std::size_t channel) const { return channel * windows.high * windows.batch; }
  std::size_t placesAt(std::size_t channel) const { return channel * windows.high * placesOfRow(windows.batch); }
};

// rows and columns of a node's windows.
class PoolOfWindows {
 public:
  explicit PoolOfWindows(const Attributes& attributes) : rows_(attributes.integer("rows")), columns_(attributes.integer("columns")) {
    if (rows_ < 1 || columns_ < 1 || rows_ * columns_ > static_cast<std::int64_t>(kMaxPlaces)) {
      throw Error("expected windows of 1 to " + std::to_string(kMaxPlaces) + " elements, got " + std::to_string(rows_) + " rows and " +
                  std::to_string(columns_) + " columns");
    }
  }

 protected:
  PoolShapes ofImage(const Shape& image) const {
    if (image.axes != 4 || image.sizes[0] % columns_ != 0 || image.sizes[2] % rows_ != 0) {
      throw Error("expected images [W,C,H,N] in whole windows, got " + describe(image));
    }
    return ofResult({4, {image.sizes[0] / columns_, image.sizes[1], image.sizes[2] / rows_, image.sizes[3]}});
  }

  PoolShapes ofResult(const Shape& result) const {
    if (result.axes != 4) throw Error("expected images [W,C,H,N], got " + describe(result));
    const auto [wide, channels, high, batch] = std::array{result.sizes[0], result.sizes[1], result.sizes[2], result.sizes[3]};
    const auto size = [](std::int64_t length) { return static_cast<std::size_t>(length); };
    const auto words = static_cast<std::int64_t>(placesOfRow(size(batch)) / sizeof(std::int64_t));
    return {{size(rows_), size(columns_), size(high), size(wide), size(channels), size(batch)},
            {4, {wide * columns_, channels, high * rows_, batch}},
            result,
            {4, {wide, channels, high, words}},
            {1, {channels}}};
  }

 private:
  std::int64_t rows_;
  std::int64_t columns_;
};

// Max-pooling with windows that tile the images, an addition to each channel, and relu.
//
// Inputs: x [W,C,H,N]; bias [C], optional. Outputs, each optional: the result [w,C,h,N]; the places of the maxima (max_pool.h).
// Attributes: rows, columns: of a window; activates: 1 for the relu.
template <typename T>
struct MaxPoolActivate : PoolOfWindows {
  static constexpr const char* kName = "MaxPoolActivate";
  static constexpr std::array kInputs = {Argument{kTypeOf<T>}, Argument{kFloat32, kOptional}};
  static constexpr std::array kOutputs = {Argument{kTypeOf<T>, kOptional}, Argument{kInt64, kOptional}};

  explicit MaxPoolActivate(const Attributes& attributes) : PoolOfWindows(attributes), activates_(attributes.integer("activates") != 0) {}

  void compute(Computation& computation) const {
    const auto x = computation.input<T>(0);
    const PoolShapes shapes = ofImage(x.shape);
    const float* const bias = computation.optionalInput<float>(1, shapes.perChannel);
    T* const y = computation.output<T>(0, shapes.result);
    auto* const places = computation.output<Place>(1, shapes.places);
    shapes.forEachChannel(computation, [&](std::size_t channel) {
      poolChannel(shapes.windows, PooledChannel<T>{x.data + shapes.imageAt(channel), bias == nullptr ? 0 : bias[channel], activates_,
                                   elementsFrom(y, shapes.resultAt(channel)),
                                   elementsFrom(places, shapes.placesAt(channel))});
    });
  }

 private:
  bool activates_;
};

// Inputs: gradient of the result, places of the maxima. Outputs, each optional: the gradients of x and bias. Attributes: rows,
// columns.
template <typename T>
struct MaxPoolActivateGradient : PoolOfWindows {
  static constexpr const char* kName = "MaxPoolActivateGradient";
  static constexpr std::array kInputs = {Argument{kTypeOf<T>}, Argument{kInt64}};
  static constexpr std::array kOutputs = {Argument{kTypeOf<T>, kOptional}, Argument{kFloat32, kOptional}};

  using PoolOfWindows::PoolOfWindows;

  void compute(Computation& computation) const {
    const auto dy = computation.input<T>(0);
    const PoolShapes shapes = ofResult(dy.shape);
    const auto places = computation.input<Place>(1, shapes.places);
    T* const dx = computation.output<T>(0, shapes.image);
    float* const dBias = computation.output<float>(1, shapes.perChannel);
    shapes.forEachChannel(computation, [&](std::size_t channel) {
      const double sum = differentiatePool(shapes.windows, PooledChannelGradient<T>{dy.data + shapes.resultAt(channel), places.data + shapes.placesAt(channel),
                                                            elementsFrom(dx, shapes.imageAt(channel))});
      if (dBias != nullptr) dBias[channel] = static_cast<float>(sum);
    });
  }
};

}  // namespace ringrun::ort
