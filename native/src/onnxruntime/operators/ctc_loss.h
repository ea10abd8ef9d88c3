#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "onnxruntime/operators/rows.h"

namespace ringrun::ort {

// The loss of connectionist temporal classification (Graves and others, 2006): −log of the probability that a sequence of
// classes, without repetitions and blanks, is the target. With the target's classes between blanks l[0 … 2U] and
// log-probabilities x[t][c], α[t][s] is the log of the sum over all beginnings that end in state s at time t, and β[t][s] over
// all ends that begin there; both contain x[t][l[s]].
//
// Inputs: log-probabilities [T,N,C]; targets, [N,S] or all of them concatenated; lengths of inputs [N] and targets
// [N]. Outputs: losses [N]; of each loss with respect to log-probabilities exp x[t][c] − Σ over s of class c of the
// probability to be in s at time t, [T,N,C]: torch's gradient, which is that of logits if x is a log-softmax.
// Attributes: blank; zeroInfinity: 1 if infinite losses and their gradients are 0.
struct CtcLoss {
  static constexpr const char* kName = "CtcLoss";
  static constexpr std::array kInputs = {Argument{kFloat32}, Argument{kInt64}, Argument{kInt64}, Argument{kInt64}};
  static constexpr std::array kOutputs = {Argument{kFloat32}, Argument{kFloat32, kOptional}};

  explicit CtcLoss(const Attributes& attributes) : blank_(attributes.integer("blank")), zeroInfinity_(attributes.integer("zeroInfinity") != 0) {}

  void compute(Computation& computation) const {
    const auto x = computation.input<float>(0);
    if (x.shape.axes != 3) throw Error("expected log-probabilities with 3 dimensions, got " + describe(x.shape));
    const std::int64_t times = x.shape.sizes[0];
    const std::int64_t count = x.shape.sizes[1];
    const std::int64_t classes = x.shape.sizes[2];
    const auto targets = computation.input<std::int64_t>(1);
    const auto inputLengths = computation.input<std::int64_t>(2, {1, {count}});
    const auto targetLengths = computation.input<std::int64_t>(3, {1, {count}});
    const std::vector<std::size_t> starts = startsOf(targets, targetLengths);
    float* const losses = computation.output<float>(0, {1, {count}});
    float* const gradients = computation.output<float>(1, x.shape);
    const auto work = static_cast<std::size_t>(times * classes);
    forEachRow(computation, static_cast<std::size_t>(count), std::max<std::size_t>(work, 1), [&](std::size_t n) {
      const Sample sample{x.data + n * static_cast<std::size_t>(classes), static_cast<std::size_t>(count * classes),
                          static_cast<std::size_t>(classes), lengthOf("input", inputLengths.data[n], times, n),
                          statesOf(targets.data + starts[n], targetLengths.data[n], classes, n)};
      float* const gradient = elementsFrom(gradients, n * sample.classes);
      losses[n] = static_cast<float>(lossOf(sample, static_cast<std::size_t>(times), gradient));
    });
  }

 private:
  static constexpr double kNever = -std::numeric_limits<double>::infinity();

  struct Sample {
    const float* x;
    // Stride from one time to the next, in elements.
    std::size_t stride;
    std::size_t classes;
    std::size_t times;
    std::vector<std::size_t> states;

    double at(std::size_t time, std::size_t state) const { return x[time * stride + states[state]]; }
    // True if a blank between this state and the one before the last may be skipped.
    bool skips(std::size_t state) const { return state >= 2 && state % 2 == 1 && states[state] != states[state - 2]; }
  };

  double lossOf(const Sample& sample, std::size_t times, float* gradient) const {
    const std::vector<double> alpha = forward(sample);
    const std::size_t states = sample.states.size();
    double probability = kNever;
    if (sample.times == 0) {
      probability = states == 1 ? 0 : kNever;
    } else {
      const double* const last = alpha.data() + (sample.times - 1) * states;
      probability = add(last[states - 1], states > 1 ? last[states - 2] : kNever);
    }
    const bool isIgnored = zeroInfinity_ && probability == kNever;
    if (gradient != nullptr) writeGradient(sample, times, alpha, probability, isIgnored, gradient);
    return isIgnored ? 0 : -probability;
  }

  static std::vector<double> forward(const Sample& sample) {
    const std::size_t states = sample.states.size();
    std::vector<double> alpha(sample.times * states, kNever);
    for (std::size_t t = 0; t < sample.times; ++t) {
      double* const now = alpha.data() + t * states;
      const double* const before = now - states;
      for (std::size_t s = 0; s < states; ++s) {
        double sum = kNever;
        if (t == 0) {
          if (s < 2) sum = 0;
        } else {
          sum = before[s];
          if (s > 0) sum = add(sum, before[s - 1]);
          if (sample.skips(s)) sum = add(sum, before[s - 2]);
        }
        now[s] = sum + sample.at(t, s);
      }
    }
    return alpha;
  }

  // β from the last time to the first, and the gradient of each time from it.
  void writeGradient(const Sample& sample, std::size_t times, const std::vector<double>& alpha, double probability, bool isIgnored,
                     float* gradient) const {
    const std::size_t states = sample.states.size();
    std::vector<double> beta(states, kNever);
    std::vector<double> later(states, kNever);
    std::vector<double> ofClass(sample.classes);
    for (std::size_t t = times; t-- > 0;) {
      float* const result = gradient + t * sample.stride;
      if (isIgnored || t >= sample.times) {
        std::fill_n(result, sample.classes, 0.0f);
        continue;
      }
      later.swap(beta);
      for (std::size_t s = 0; s < states; ++s) {
        double sum = kNever;
        if (t + 1 == sample.times) {
          if (s + 2 >= states) sum = 0;
        } else {
          sum = later[s];
          if (s + 1 < states) sum = add(sum, later[s + 1]);
          if (s + 2 < states && sample.skips(s + 2)) sum = add(sum, later[s + 2]);
        }
        beta[s] = sum + sample.at(t, s);
      }
      std::fill(ofClass.begin(), ofClass.end(), kNever);
      for (std::size_t s = 0; s < states; ++s) {
        double& sum = ofClass[sample.states[s]];
        sum = add(sum, alpha[t * states + s] + beta[s]);
      }
      for (std::size_t c = 0; c < sample.classes; ++c) {
        const double x = sample.x[t * sample.stride + c];
        // α and β both contain x.
        result[c] = static_cast<float>(std::exp(x) - std::exp(ofClass[c] - probability - x));
      }
    }
  }

  // log(exp a + exp b)
  static double add(double a, double b) {
    if (a < b) std::swap(a, b);
    return b == kNever ? a : a + std::log1p(std::exp(b - a));
  }

  // The target's classes with blanks before, between and after them.
  std::vector<std::size_t> statesOf(const std::int64_t* target, std::int64_t length, std::int64_t classes, std::size_t n) const {
    std::vector<std::size_t> states(2 * static_cast<std::size_t>(length) + 1, static_cast<std::size_t>(blank_));
    for (std::int64_t u = 0; u < length; ++u) {
      if (target[u] < 0 || target[u] >= classes) {
        throw Error("expected targets from 0 to " + std::to_string(classes - 1) + ", got " + std::to_string(target[u]) + " in sample " +
                    std::to_string(n));
      }
      states[2 * static_cast<std::size_t>(u) + 1] = static_cast<std::size_t>(target[u]);
    }
    return states;
  }

  static std::size_t lengthOf(const char* what, std::int64_t length, std::int64_t most, std::size_t n) {
    if (length < 0 || length > most) {
      throw Error("expected " + std::string(what) + " lengths from 0 to " + std::to_string(most) + ", got " + std::to_string(length) +
                  " in sample " + std::to_string(n));
    }
    return static_cast<std::size_t>(length);
  }

  // Where the target of each sample begins.
  static std::vector<std::size_t> startsOf(const Array<const std::int64_t>& targets, const Array<const std::int64_t>& lengths) {
    const std::size_t count = lengths.count();
    const bool isPadded = targets.shape.axes == 2;
    if (isPadded && targets.shape.sizes[0] != static_cast<std::int64_t>(count)) {
      throw Error("expected targets of " + std::to_string(count) + " samples, got " + describe(targets.shape));
    }
    std::vector<std::size_t> starts(count);
    std::size_t next = 0;
    for (std::size_t n = 0; n < count; ++n) {
      const std::int64_t most = isPadded ? targets.shape.sizes[1] : static_cast<std::int64_t>(targets.count() - next);
      const std::size_t length = lengthOf("target", lengths.data[n], most, n);
      starts[n] = next;
      next += isPadded ? static_cast<std::size_t>(targets.shape.sizes[1]) : length;
    }
    if (!isPadded && next != targets.count()) {
      throw Error("expected targets as long as the sum of their lengths, " + std::to_string(next) + ", got " + std::to_string(targets.count()));
    }
    return starts;
  }

  std::int64_t blank_;
  bool zeroInfinity_;
};

}  // namespace ringrun::ort
