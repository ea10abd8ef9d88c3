#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "operators/elementwise.h"

namespace ringrun::ort {

// Elementwise programs in the attributes and arguments of an operator. Arrays: up to kConditions arrays of conditions, up to
// kBFloats bfloat16 arrays, then float32 arrays. Inputs have as many elements as the outputs, or a part that is repeated: one
// element, or those of the last axes.
//
// Attributes: inputs and outputs, the numbers of arrays of each type; code, 4 integers for each instruction: its opcode and the
// numbers of its operands; results, the numbers of the values that are outputs; shapes, for each output the number of its axes
// and their sizes.
constexpr std::size_t kConditions = 4;
constexpr std::size_t kBFloats = 8;

// The arguments of an operator whose others come first.
template <std::size_t Others = 0>
constexpr auto programArguments(std::array<Argument, Others> others = {}) {
  std::array<Argument, Others + kConditions + kBFloats + 1> arguments{};
  for (std::size_t i = 0; i < Others; ++i) arguments[i] = others[i];
  for (std::size_t i = 0; i < kConditions + kBFloats; ++i) arguments[Others + i] = {i < kConditions ? kBool : kBFloat16, kOptional};
  arguments.back() = {kFloat32, kVariadic, 0};
  return arguments;
}

class ProgramArrays {
 public:
  // If `lacksLast`, the operator computes the last float32 input.
  explicit ProgramArrays(const Attributes& attributes, bool lacksLast = false)
      : shapes_(shapesOf(attributes.integers("shapes"))), inputs_(countsOf("inputs", attributes)), program_(definitionOf(attributes, inputs_, lacksLast)) {}

  const ElementwiseProgram& program() const { return program_; }

  // Elements of an output.
  std::size_t count() const { return shapes_.front().count(); }

  // `first`: the argument of the first array.
  std::vector<ElementwiseInput> inputs(const Computation& computation, std::size_t first = 0) const {
    const std::size_t count = this->count();
    std::vector<ElementwiseInput> inputs;
    for (std::size_t i = 0; i < inputs_.total(); ++i) {
      const auto found = computation.input<std::uint8_t>(first + placeOf(i, inputs_));
      const std::size_t own = found ? found.count() : 0;
      if (own == 0 || count % own != 0) {
        throw Error("input " + std::to_string(i) + ": expected " + std::to_string(count) + " elements or a part of them, got " + describe(found.shape));
      }
      inputs.push_back({found.data, own == count && own != 1 ? 0 : own});
    }
    return inputs;
  }

  std::vector<void*> outputs(const Computation& computation) const {
    const ElementwiseCounts& counts = program_.definition().outputs;
    std::vector<void*> outputs;
    for (std::size_t k = 0; k < shapes_.size(); ++k) outputs.push_back(computation.output<void>(placeOf(k, counts), shapes_[k]));
    return outputs;
  }

 private:
  // The argument of an array.
  static std::size_t placeOf(std::size_t array, const ElementwiseCounts& counts) {
    if (counts.isCondition(array)) return array;
    if (counts.isBFloat(array)) return kConditions + array - counts.conditions;
    return kConditions + kBFloats + array - counts.conditions - counts.bfloats;
  }

  static ElementwiseCounts countsOf(const char* name, const Attributes& attributes) {
    const auto counts = attributes.integers(name);
    if (counts.size() != 3) throw Error(std::string(name) + ": expected 3 numbers, got " + std::to_string(counts.size()));
    const auto count = [&](std::size_t i) { return static_cast<std::size_t>(counts[i]); };
    return {count(0), count(1), count(2)};
  }

  static std::vector<Shape> shapesOf(const std::vector<std::int64_t>& numbers) {
    std::vector<Shape> shapes;
    for (std::size_t at = 0; at < numbers.size();) {
      Shape shape;
      shape.axes = static_cast<std::size_t>(numbers[at++]);
      if (shape.axes > kMaxAxes || at + shape.axes > numbers.size()) throw Error("shapes: expected axes and sizes of every output");
      std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(at), shape.axes, shape.sizes.begin());
      at += shape.axes;
      shapes.push_back(shape);
    }
    if (shapes.empty()) throw Error("shapes: expected at least one");
    return shapes;
  }

  static ElementwiseProgram::Definition definitionOf(const Attributes& attributes, ElementwiseCounts inputs, bool lacksLast) {
    ElementwiseProgram::Definition definition;
    definition.inputs = inputs;
    if (lacksLast) ++definition.inputs.floats;
    definition.outputs = countsOf("outputs", attributes);
    const auto code = attributes.integers("code");
    for (std::size_t at = 0; at + 4 <= code.size(); at += 4) {
      definition.instructions.push_back(
          {static_cast<Opcode>(code[at]),
           {static_cast<std::size_t>(code[at + 1]), static_cast<std::size_t>(code[at + 2]), static_cast<std::size_t>(code[at + 3])}});
    }
    for (const std::int64_t value : attributes.integers("results")) definition.results.push_back(static_cast<std::size_t>(value));
    return definition;
  }

  std::vector<Shape> shapes_;
  ElementwiseCounts inputs_;
  ElementwiseProgram program_;
};

}  // namespace ringrun::ort
