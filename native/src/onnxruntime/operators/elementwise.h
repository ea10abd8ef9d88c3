#pragma once

#include <algorithm>
#include <utility>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "operators/elementwise.h"

namespace ringrun::ort {

// A program of elementwise instructions (operators/elementwise.h). Inputs and outputs: up to kConditions arrays of
// conditions, then float32 arrays. Inputs have equally many elements, or one.
//
// Attributes: code, 4 integers for each instruction: its opcode and the numbers of its operands; results, the numbers of
// the values that are outputs, conditions first; shapes, for each output the number of its axes and their sizes.
struct Elementwise {
  static constexpr std::size_t kConditions = 4;

  static constexpr const char* kName = "Elementwise";
  static constexpr std::array kInputs = {Argument{kBool, kOptional}, Argument{kBool, kOptional}, Argument{kBool, kOptional},
                                         Argument{kBool, kOptional}, Argument{kFloat32, kVariadic}};
  static constexpr std::array kOutputs = {Argument{kBool, kOptional}, Argument{kBool, kOptional}, Argument{kBool, kOptional},
                                          Argument{kBool, kOptional}, Argument{kFloat32, kVariadic}};

  explicit Elementwise(const Attributes& attributes) : shapes_(shapesOf(attributes.integers("shapes"))), program_(definitionOf(attributes)) {}

  void compute(Computation& computation) const {
    const auto& definition = program_.definition();
    const Shape& shape = shapes_.front();
    const std::size_t count = shape.count();
    std::vector<ElementwiseInput> inputs;
    for (std::size_t i = 0; i < definition.conditions + definition.numbers; ++i) {
      const bool isCondition = i < definition.conditions;
      const auto found = computation.input<std::uint8_t>(isCondition ? i : kConditions + i - definition.conditions);
      if (!found || (found.count() != count && found.count() != 1)) {
        throw Error("input " + std::to_string(i) + ": expected " + std::to_string(count) + " elements or 1, got " + describe(found.shape));
      }
      inputs.push_back({found.data, found.count() != count});
    }
    std::vector<void*> outputs;
    for (std::size_t k = 0; k < shapes_.size(); ++k) {
      const bool isCondition = k < definition.conditionOutputs.size();
      const std::size_t index = isCondition ? k : kConditions + k - definition.conditionOutputs.size();
      outputs.push_back(computation.output<void>(index, shapes_[k]));
    }
    computation.parallelFor((count + kChunk - 1) / kChunk, [&](std::size_t chunk) {
      program_.compute(inputs, outputs, chunk * kChunk, std::min(count, (chunk + 1) * kChunk));
    });
  }

 private:
  // Elements that one thread computes at a time.
  static constexpr std::size_t kChunk = 1 << 14;

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
    definition.conditions = static_cast<std::size_t>(attributes.integer("conditions"));
    definition.numbers = static_cast<std::size_t>(attributes.integer("numbers"));
    const auto code = attributes.integers("code");
    for (std::size_t at = 0; at + 4 <= code.size(); at += 4) {
      definition.instructions.push_back(
          {static_cast<Opcode>(code[at]),
           {static_cast<std::size_t>(code[at + 1]), static_cast<std::size_t>(code[at + 2]), static_cast<std::size_t>(code[at + 3])}});
    }
    const auto results = attributes.integers("results");
    const auto conditionResults = static_cast<std::size_t>(attributes.integer("conditionResults"));
    for (std::size_t k = 0; k < results.size(); ++k) {
      (k < conditionResults ? definition.conditionOutputs : definition.numberOutputs).push_back(static_cast<std::size_t>(results[k]));
    }
    return definition;
  }

  std::vector<Shape> shapes_;
  ElementwiseProgram program_;
};

}  // namespace ringrun::ort
