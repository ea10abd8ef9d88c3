#pragma once

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "onnxruntime/calls.h"
#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"

namespace ringrun::ort {

// Nodes that make calls outside of the graph (onnxruntime/calls.h). Each has a token, [1], as its first output. A
// node that consumes the token runs later: so tokens fix the order of calls, regardless of the order that onnxruntime chooses.

// Starts a call after its inputs have been computed. Attributes:
// - call: -1 for none, to order nodes only.
// - outputs: the first inputs are these outputs of the graph. They are copied to the output memory unless they are already in it.
struct StartCall {
  static constexpr const char* kName = "StartCall";
  static constexpr std::array kInputs = {Argument{kFloat32, kVariadic}};
  static constexpr std::array kOutputs = {Argument{kFloat32}};

  explicit StartCall(const Attributes& attributes)
      : call_(attributes.integer("call")), outputs_(attributes.integers("outputs")) {}

  void compute(Computation& computation) const {
    if (float* const token = computation.output<float>(0, {1, {1}})) *token = 0;
    if (call_ < 0) return;
    Calls& calls = Calls::current();
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const Array<const float> written = computation.input<float>(i);
      void* const memory = calls.output(static_cast<std::size_t>(outputs_[i]));
      if (memory != written.data && written.count() > 0) std::memcpy(memory, written.data, written.count() * sizeof(float));
    }
    calls.start(static_cast<std::size_t>(call_));
  }

 private:
  std::int64_t call_;
  std::vector<std::int64_t> outputs_;
};

// Waits until a started call has ended. Inputs: the token of the start, and outputs of the graph that the call changes
// in place. Outputs: these after the call, in the same memory. Attributes:
// - call: -1 for none.
// - outputs: positions of these outputs of the graph.
struct AwaitCall {
  static constexpr const char* kName = "AwaitCall";
  static constexpr std::array kInputs = {Argument{kFloat32}, Argument{kFloat32, kVariadic}};
  static constexpr std::array kOutputs = {Argument{kFloat32, kVariadic}};
  // Limits the arrays that alias; others are copied.
  static constexpr std::array<Sharing, 1024> kAliases = [] {
    std::array<Sharing, 1024> pairs{};
    for (int i = 0; i < static_cast<int>(pairs.size()); ++i) pairs[static_cast<std::size_t>(i)] = {i + 1, i};
    return pairs;
  }();

  explicit AwaitCall(const Attributes& attributes)
      : call_(attributes.integer("call")), outputs_(attributes.integers("outputs")) {}

  void compute(Computation& computation) const {
    if (call_ >= 0) Calls::current().await(static_cast<std::size_t>(call_));
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const Array<const float> given = computation.input<float>(i + 1);
      float* const result = computation.output<float>(i, given.shape);
      const void* const changed = call_ < 0 ? given.data : Calls::current().output(static_cast<std::size_t>(outputs_[i]));
      if (result != changed && given.count() > 0) std::memcpy(result, changed, given.count() * sizeof(float));
    }
  }

 private:
  std::int64_t call_;
  std::vector<std::int64_t> outputs_;
};

// Copies its first inputs to the arrays that a call sends, waits for the call, and returns a token and the arrays that it
// received. Attributes:
// - call
// - sends: number of these inputs; the remaining ones are tokens.
// - shapes: of the received arrays, each as its number of dimensions and their sizes.
struct RunCall {
  static constexpr const char* kName = "RunCall";
  static constexpr std::array kInputs = {Argument{kFloat32, kVariadic}};
  static constexpr std::array kOutputs = {Argument{kFloat32, kVariadic}};

  explicit RunCall(const Attributes& attributes)
      : call_(static_cast<std::size_t>(attributes.integer("call"))), sends_(static_cast<std::size_t>(attributes.integer("sends"))) {
    const std::vector<std::int64_t> numbers = attributes.integers("shapes");
    for (std::size_t i = 0; i < numbers.size();) {
      Shape shape;
      shape.axes = static_cast<std::size_t>(numbers[i++]);
      if (shape.axes > kMaxAxes || i + shape.axes > numbers.size()) throw Error("invalid attribute shapes");
      for (std::size_t axis = 0; axis < shape.axes; ++axis) shape.sizes[axis] = numbers[i++];
      shapes_.push_back(shape);
    }
  }

  void compute(Computation& computation) const {
    Calls& calls = Calls::current();
    const std::vector<Span>& sends = calls.sends(call_);
    const std::vector<Span>& receives = calls.receives(call_);
    if (sends.size() != sends_ || receives.size() != shapes_.size()) throw Error("a call has other arrays than its node");
    for (std::size_t i = 0; i < sends_; ++i) {
      const Array<const float> array = computation.input<float>(i);
      copy(sends[i].data, array.data, array.count(), sends[i]);
    }
    calls.run(call_);
    if (float* const token = computation.output<float>(0, {1, {1}})) *token = 0;
    for (std::size_t i = 0; i < shapes_.size(); ++i) {
      float* const result = computation.output<float>(i + 1, shapes_[i]);
      if (result != nullptr) copy(result, receives[i].data, shapes_[i].count(), receives[i]);
    }
  }

 private:
  static void copy(void* to, const void* from, std::size_t count, const Span& outside) {
    const std::size_t bytes = count * sizeof(float);
    if (bytes != outside.bytes) throw Error("expected an array of " + std::to_string(bytes) + " bytes, got " + std::to_string(outside.bytes));
    if (bytes > 0) std::memcpy(to, from, bytes);
  }

  std::size_t call_;
  std::size_t sends_;
  std::vector<Shape> shapes_;
};

}  // namespace ringrun::ort
