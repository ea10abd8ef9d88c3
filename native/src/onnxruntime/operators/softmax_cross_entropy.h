#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "onnxruntime/operators/rows.h"
#include "operators/softmax.h"
#include "operators/vectors.h"

namespace ringrun::ort {

// The classes of rows of logits, and the weight of each class.
class ClassTargets {
 public:
  enum class Reduction { None = 0, Sum = 1, Mean = 2 };

  explicit ClassTargets(const Attributes& attributes)
      : ignoreIndex_(attributes.integer("ignoreIndex")), reduction_(static_cast<Reduction>(attributes.integer("reduction"))) {}

  Reduction reduction() const { return reduction_; }

  // Arrays of one run. Missing weights are 1, a missing smoothing is 0.
  struct Arrays {
    Array<const std::int64_t> classes;
    Array<const float> weights;
    double sumOfWeights = 0;
    double smoothing = 0;

    double weight(std::size_t label) const { return weights ? weights.data[label] : 1.0; }
  };

  // `labels`: index of the classes among the inputs. `options`: index of the weights, before the smoothing.
  Arrays arrays(const Computation& computation, const Shape& logits, std::size_t labels, std::size_t options) const {
    if (logits.axes != 2) throw Error("expected logits with 2 dimensions, got " + describe(logits));
    Arrays arrays;
    arrays.classes = computation.input<std::int64_t>(labels, {1, {logits.sizes[0]}});
    arrays.weights = computation.input<float>(options);
    if (arrays.weights) arrays.weights = computation.input<float>(options, {1, {logits.sizes[1]}});
    if (computation.input<float>(options + 1)) arrays.smoothing = computation.number(options + 1);
    const auto count = static_cast<std::size_t>(logits.sizes[1]);
    arrays.sumOfWeights = static_cast<double>(count);
    if (arrays.weights) {
      arrays.sumOfWeights = 0;
      for (std::size_t label = 0; label < count; ++label) arrays.sumOfWeights += arrays.weights.data[label];
    }
    return arrays;
  }

  bool isIgnored(const Arrays& arrays, std::size_t row) const { return arrays.classes.data[row] == ignoreIndex_; }

  // The class of a row that is not ignored.
  static std::size_t labelOf(const Arrays& arrays, std::size_t row, std::size_t count) {
    const std::int64_t label = arrays.classes.data[row];
    if (label < 0 || label >= static_cast<std::int64_t>(count)) {
      throw Error("expected classes from 0 to " + std::to_string(count - 1) + " or ignoreIndex, got " + std::to_string(label) + " in row " +
                  std::to_string(row));
    }
    return static_cast<std::size_t>(label);
  }

 private:
  std::int64_t ignoreIndex_;
  Reduction reduction_;
};

// With p = softmax(x[n]), t the class of the row, w the weights, s the smoothing and C the number of classes, a row that
// is not ignored has the loss −(1 − s)·w[t]·log p[t] − s/C·Σ w[c]·log p[c].
//
// Inputs: logits [N,C], classes [N], optional weights [C] and smoothing (a number). Outputs: the losses [N], their sum, or
// their sum divided by Σ w[t]; for the gradient, for each row the largest logit and 1 / Σ exp(x − largest), [N,2]; Σ w[t].
// Attributes: ignoreIndex; reduction: 0 none, 1 sum, 2 mean.
template <typename T>
struct SoftmaxCrossEntropy {
  static constexpr const char* kName = "SoftmaxCrossEntropy";
  static constexpr std::array kInputs = {Argument{kTypeOf<T>}, Argument{kInt64}, Argument{kFloat32, kOptional}, Argument{kFloat32, kOptional}};
  static constexpr std::array kOutputs = {Argument{kFloat32}, Argument{kFloat32, kOptional}, Argument{kFloat32, kOptional}};

  explicit SoftmaxCrossEntropy(const Attributes& attributes) : targets_(attributes) {}

  void compute(Computation& computation) const {
    const auto x = computation.input<T>(0);
    const auto arrays = targets_.arrays(computation, x.shape, 1, 2);
    const auto rows = static_cast<std::size_t>(x.shape.sizes[0]);
    const auto count = static_cast<std::size_t>(x.shape.sizes[1]);
    float* const statistics = computation.output<float>(1, {2, {x.shape.sizes[0], 2}});
    losses_.resize(rows);
    forEachRow(computation, rows, count, [&](std::size_t row) {
      const T* const logits = x.data + row * count;
      const Exponentials exponentials = exponentialsOf(logits, count);
      losses_[row] = targets_.isIgnored(arrays, row) ? 0 : lossOf(arrays, row, logits, count, exponentials);
      if (statistics == nullptr) return;
      statistics[2 * row] = exponentials.largest;
      statistics[2 * row + 1] = static_cast<float>(1 / exponentials.sum);
    });

    double total = 0;
    double sum = 0;
    for (std::size_t row = 0; row < rows; ++row) {
      sum += losses_[row];
      if (!targets_.isIgnored(arrays, row)) total += arrays.weight(ClassTargets::labelOf(arrays, row, count));
    }
    if (float* const number = computation.output<float>(2, {})) *number = static_cast<float>(total);
    if (targets_.reduction() == ClassTargets::Reduction::None) {
      std::copy(losses_.begin(), losses_.end(), computation.output<float>(0, {1, {x.shape.sizes[0]}}));
    } else {
      *computation.output<float>(0, {}) = static_cast<float>(targets_.reduction() == ClassTargets::Reduction::Mean ? sum / total : sum);
    }
  }

 private:
  static double lossOf(const ClassTargets::Arrays& arrays, std::size_t row, const T* logits, std::size_t count, const Exponentials& of) {
    const std::size_t label = ClassTargets::labelOf(arrays, row, count);
    const double log = std::log(of.sum);
    const double loss = arrays.weight(label) * (log - (static_cast<double>(numberOf(logits[label])) - of.largest));
    if (arrays.smoothing == 0) return loss;
    const double ofAll = arrays.sumOfWeights * log + weightedDistances(logits, count, of.largest, arrays.weights.data);
    return (1 - arrays.smoothing) * loss + arrays.smoothing / static_cast<double>(count) * ofAll;
  }

  ClassTargets targets_;
  // Per row; kept to reuse its memory in the next run.
  mutable std::vector<double> losses_;
};

// The gradient of the logits: with g the gradient of a row's loss, g·((1 − s)·w[t]·(p[c] − [c = t]) + s/C·(p[c]·Σ w − w[c])).
// The probabilities are recomputed, which takes less time than writing and reading them.
//
// Inputs: the gradient of the result, logits, classes, the second and the third output of SoftmaxCrossEntropy, optional
// weights and smoothing. Attributes: see SoftmaxCrossEntropy.
template <typename T>
struct SoftmaxCrossEntropyGradient {
  static constexpr const char* kName = "SoftmaxCrossEntropyGradient";
  static constexpr std::array kInputs = {Argument{kFloat32}, Argument{kTypeOf<T>}, Argument{kInt64},
                                         Argument{kFloat32}, Argument{kFloat32},    Argument{kFloat32, kOptional},
                                         Argument{kFloat32, kOptional}};
  static constexpr std::array kOutputs = {Argument{kTypeOf<T>}};
  static constexpr std::array kInPlace = {Sharing{1, 0}};

  explicit SoftmaxCrossEntropyGradient(const Attributes& attributes) : targets_(attributes) {}

  void compute(Computation& computation) const {
    const auto x = computation.input<T>(1);
    const auto arrays = targets_.arrays(computation, x.shape, 2, 5);
    const auto rows = static_cast<std::size_t>(x.shape.sizes[0]);
    const auto count = static_cast<std::size_t>(x.shape.sizes[1]);
    const auto statistics = computation.input<float>(3, {2, {x.shape.sizes[0], 2}});
    const bool isOfRows = targets_.reduction() == ClassTargets::Reduction::None;
    const auto gradient = isOfRows ? computation.input<float>(0, {1, {x.shape.sizes[0]}}) : computation.input<float>(0, {});
    const double divisor = targets_.reduction() == ClassTargets::Reduction::Mean ? computation.number(4) : 1;
    T* const to = computation.output<T>(0, x.shape);
    forEachRow(computation, rows, count, [&](std::size_t row) {
      const float largest = statistics.data[2 * row];
      const double inverse = statistics.data[2 * row + 1];
      const T* const logits = x.data + row * count;
      T* const result = to + row * count;
      // 0, or NaN where a probability is NaN.
      if (targets_.isIgnored(arrays, row)) return scaledExponentials(logits, count, largest, static_cast<float>(inverse * 0), result);
      const std::size_t label = ClassTargets::labelOf(arrays, row, count);
      const double each = gradient.data[isOfRows ? row : 0] / divisor;
      const double ofLabel = each * (1 - arrays.smoothing) * arrays.weight(label);
      const double ofAll = each * arrays.smoothing / static_cast<double>(count);
      const double ofProbabilities = ofLabel + ofAll * arrays.sumOfWeights;
      const double probability = std::exp(static_cast<double>(numberOf(logits[label])) - largest) * inverse;
      const auto scale = static_cast<float>(ofProbabilities * inverse);
      const auto gradientOfLabel = static_cast<float>(ofProbabilities * probability - ofLabel);
      if (arrays.smoothing == 0) {
        scaledExponentials(logits, count, largest, scale, result);
        setNumber(result[label], gradientOfLabel);
        return;
      }
      // In float32, because the result is rounded once.
      thread_local std::vector<float> memory;
      float* numbers;
      if constexpr (std::is_same_v<T, float>) {
        numbers = result;
      } else {
        memory.resize(count);
        numbers = memory.data();
      }
      scaledExponentials(logits, count, largest, scale, numbers);
      numbers[label] = gradientOfLabel;
      const auto share = static_cast<float>(ofAll);
      const float* const weights = arrays.weights.data;
      for (std::size_t c = 0; c < count; ++c) setNumber(result[c], numbers[c] - (weights == nullptr ? share : share * weights[c]));
    });
  }

 private:
  ClassTargets targets_;
};

}  // namespace ringrun::ort
