#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

// Elementwise functions of several arrays, in one pass: a program of instructions over blocks of elements that stay in
// the first-level cache. Each instruction rounds like the ONNX operator of the same name, so results are
// bit-identical to a graph of those operators.

namespace ringrun {

// The numbers are those of packages/nn/src/ops/elementwise-program.ts.
enum class Opcode : std::int64_t {
  Add = 0,
  Sub = 1,
  Mul = 2,
  Div = 3,
  Max = 4,  // NaN if an operand is
  Min = 5,  // NaN if an operand is
  Neg = 6,
  Sqrt = 7,
  Abs = 8,
  Relu = 9,
  Greater = 10,
  GreaterOrEqual = 11,
  LessOrEqual = 12,
  Equal = 13,
  IsNaN = 14,
  Or = 15,
  Where = 16,  // condition, value where it is true, value where it is false
};
constexpr std::size_t kOpcodes = 17;
constexpr std::size_t kMaxOperands = 3;

// Values are numbered: input conditions, then input float32 arrays, then the results of the instructions.
struct Instruction {
  Opcode op;
  std::size_t operands[kMaxOperands];
};

// Elements of all arrays, or one element for all.
struct ElementwiseInput {
  const void* data;
  bool isScalar;
};

class ElementwiseProgram {
 public:
  struct Definition {
    std::size_t conditions;  // inputs of one byte an element, 0 or 1
    std::size_t numbers;     // float32 inputs
    std::vector<Instruction> instructions;
    std::vector<std::size_t> conditionOutputs;  // values that are conditions
    std::vector<std::size_t> numberOutputs;     // values that are float32
  };

  // Throws std::invalid_argument if an instruction reads a value that does not exist, or a condition as a number.
  explicit ElementwiseProgram(Definition definition);

  const Definition& definition() const { return definition_; }

  // Computes elements [begin, end) of all outputs, conditions first. An output may be one of the inputs. Disjoint ranges
  // may be computed at the same time.
  void compute(const std::vector<ElementwiseInput>& inputs, const std::vector<void*>& outputs, std::size_t begin, std::size_t end) const;

 private:
  void requireValid() const;
  void assignBuffers();
  std::size_t inputCount() const { return definition_.conditions + definition_.numbers; }
  bool isCondition(std::size_t value) const;

  Definition definition_;
  // For each value: the instruction that reads it last; the number of instructions if it is an output.
  std::vector<std::size_t> lastReaders_;
  // For each value: the buffer of a block that holds it.
  std::vector<std::size_t> buffers_;
  std::size_t bufferCount_ = 0;
};

}  // namespace ringrun
