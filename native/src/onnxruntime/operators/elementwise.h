#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "operators/elementwise.h"

namespace ringrun::ort {

// A program of elementwise instructions (operators/elementwise.h). Inputs and outputs: up to kConditions arrays of conditions,
// up to kBFloats bfloat16 arrays, then float32 arrays. Inputs have equally many elements, or one.
//
// Attributes: inputs and outputs, the numbers of arrays of each type; code, 4 integers for each instruction: its opcode and the
// numbers of its operands; results, the numbers of the values that are outputs; shapes, for each output the number of its axes
// and their sizes.
struct Elementwise {
  static constexpr std::size_t kConditions = 4;
  static constexpr std::size_t kBFloats = 8;

  static constexpr const char* kName = "Elementwise";
  static constexpr auto kInputs = [] {
    std::array<Argument, kConditions + kBFloats + 1> arguments{};
    for (std::size_t i = 0; i < kConditions + kBFloats; ++i) arguments[i] = {i < kConditions ? kBool : kBFloat16, kOptional};
    arguments.back() = {kFloat32, kVariadic, 0};
    return arguments;
  }();
  static constexpr auto kOutputs = kInputs;

  explicit Elementwise(const Attributes& attributes) : shapes_(shapesOf(attributes.integers("shapes"))), program_(definitionOf(attributes)) {}

  void compute(Computation& computation) const {
    const auto& definition = program_.definition();
    const Shape& shape = shapes_.front();
    const std::size_t count = shape.count();
    std::vector<ElementwiseInput> inputs;
    for (std::size_t i = 0; i < definition.inputs.total(); ++i) {
      const auto found = computation.input<std::uint8_t>(placeOf(i, definition.inputs));
      if (!found || (found.count() != count && found.count() != 1)) {
        throw Error("input " + std::to_string(i) + ": expected " + std::to_string(count) + " elements or 1, got " + describe(found.shape));
      }
      inputs.push_back({found.data, found.count() != count});
    }
    std::vector<void*> outputs;
    for (std::size_t k = 0; k < shapes_.size(); ++k) outputs.push_back(computation.output<void>(placeOf(k, definition.outputs), shapes_[k]));
    computation.parallelFor((count + kChunk - 1) / kChunk, [&](std::size_t chunk) {
      program_.compute(inputs, outputs, chunk * kChunk, std::min(count, (chunk + 1) * kChunk));
    });
  }

 private:
  // Elements that one thread computes at a time.
  static constexpr std::size_t kChunk = 1 << 14;

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

  static ElementwiseProgram::Definition definitionOf(const Attributes& attributes) {
    ElementwiseProgram::Definition definition;
    definition.inputs = countsOf("inputs", attributes);
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
  ElementwiseProgram program_;
};

}  // namespace ringrun::ort
