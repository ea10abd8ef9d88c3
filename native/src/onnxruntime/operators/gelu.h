#pragma once

#include <algorithm>
#include <array>

#include "onnxruntime/operator.h"
#include "onnxruntime/operators/rows.h"
#include "operators/gelu.h"

namespace ringrun::ort {

// Calls body(begin, count) for parts of `total` elements, on the threads of the session.
template <typename Body>
void forEachPart(const Computation& computation, std::size_t total, const Body& body) {
  computation.parallelFor((total + kElementsOfPart - 1) / kElementsOfPart, [&](std::size_t part) {
    const std::size_t begin = part * kElementsOfPart;
    body(begin, std::min(kElementsOfPart, total - begin));
  });
}

// x·Φ(x). Attribute: tanh = 1, the form by the hyperbolic tangent.
template <typename T>
struct Gelu {
  static constexpr const char* kName = "Gelu";
  static constexpr std::array kInputs = {Argument{kTypeOf<T>}};
  static constexpr std::array kOutputs = {Argument{kTypeOf<T>}};
  static constexpr std::array kInPlace = {Sharing{0, 0}};

  explicit Gelu(const Attributes& attributes) : isTanh_(attributes.integer("tanh") != 0) {}

  void compute(Computation& computation) const {
    const auto x = computation.input<T>(0);
    T* const y = computation.output<T>(0, x.shape);
    const auto compute = isTanh_ ? tanhGelu<T> : gelu<T>;
    forEachPart(computation, x.count(), [&](std::size_t begin, std::size_t count) { compute(x.data + begin, count, y + begin); });
  }

 private:
  bool isTanh_;
};

// Inputs: the gradient of the result, x. Output: the gradient of x. Attribute: see Gelu.
template <typename T>
struct GeluGradient {
  static constexpr const char* kName = "GeluGradient";
  static constexpr std::array kInputs = {Argument{kTypeOf<T>}, Argument{kTypeOf<T>}};
  static constexpr std::array kOutputs = {Argument{kTypeOf<T>}};
  static constexpr std::array kInPlace = {Sharing{0, 0}};

  explicit GeluGradient(const Attributes& attributes) : isTanh_(attributes.integer("tanh") != 0) {}

  void compute(Computation& computation) const {
    const auto x = computation.input<T>(1);
    const auto dy = computation.input<T>(0, x.shape);
    T* const dx = computation.output<T>(0, x.shape);
    const auto compute = isTanh_ ? tanhGeluGradient<T> : geluGradient<T>;
    forEachPart(computation, x.count(), [&](std::size_t begin, std::size_t count) {
      compute(dy.data + begin, x.data + begin, count, dx + begin);
    });
  }

 private:
  bool isTanh_;
};

}  // namespace ringrun::ort
