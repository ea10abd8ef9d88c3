#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

// Elementwise functions of several arrays, in one pass: a program of instructions over blocks of elements that stay in
// the first-level cache. Each instruction rounds like the ONNX operator of the same name, so results are
// bit-identical to a graph of those operators. Computations are in float32: arrays of bfloat16 are widened when they are
// read and rounded when they are written, and Round is a value that a graph would store in bfloat16.

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
  Round = 17,  // to the nearest bfloat16, ties to even
  Gelu = 18,   // operators/gelu.h
  GeluGradient = 19,
  TanhGelu = 20,
  TanhGeluGradient = 21,
};
constexpr std::size_t kOpcodes = 22;
constexpr std::size_t kMaxOperands = 3;

// Values are numbered: input conditions, bfloat16 arrays and float32 arrays, then the results of the instructions. Outputs are
// any of them.
struct Instruction {
  Opcode op;
  std::size_t operands[kMaxOperands];
};

// As many elements as the outputs, or a period of elements that is repeated.
struct ElementwiseInput {
  const void* data;
  std::size_t period = 0;  // 0: not repeated
};

// Arrays in their order: conditions, bfloat16 arrays, float32 arrays.
struct ElementwiseCounts {
  std::size_t conditions;  // of one byte an element, 0 or 1
  std::size_t bfloats;
  std::size_t floats;

  std::size_t total() const { return conditions + bfloats + floats; }
  bool isCondition(std::size_t array) const { return array < conditions; }
  bool isBFloat(std::size_t array) const { return array >= conditions && array < conditions + bfloats; }
};

class ElementwiseProgram {
 public:
  struct Definition {
    ElementwiseCounts inputs;
    std::vector<Instruction> instructions;
    ElementwiseCounts outputs;
    std::vector<std::size_t> results;  // the values of the outputs
  };

  // Throws std::invalid_argument if an instruction reads a value that does not exist, or a condition as a number.
  explicit ElementwiseProgram(Definition definition);

  const Definition& definition() const { return definition_; }

  // Computes elements [begin, end) of all outputs. An output may be one of the inputs. Disjoint ranges
  // may be computed at the same time.
  void compute(const std::vector<ElementwiseInput>& inputs, const std::vector<void*>& outputs, std::size_t begin, std::size_t end) const;

 private:
  void requireValid() const;
  void assignBuffers();
  std::size_t inputCount() const { return definition_.inputs.total(); }
  bool isCondition(std::size_t value) const;

  friend class ElementwiseRun;

  Definition definition_;
  // For each value: the instruction that reads it last; the number of instructions if it is an output.
  std::vector<std::size_t> lastReaders_;
  // For each value: the buffer of a block that holds it.
  std::vector<std::size_t> buffers_;
  std::size_t bufferCount_ = 0;
};

// A program with its arrays, on one thread.
class ElementwiseRun {
 public:
  // Elements of a block. 8 buffers of 2 KiB leave half of a first-level cache of 32 KiB to inputs and outputs.
  static constexpr std::size_t kMost = 512;

  // `inputs` may lack the last one, which `compute` receives block by block.
  ElementwiseRun(const ElementwiseProgram& program, const std::vector<ElementwiseInput>& inputs, const std::vector<void*>& outputs);

  // Elements begin … begin + count − 1 of the outputs, at most kMost.
  //
  // `last`: those of the missing input, float32, with room up to a multiple of 16 elements.
  void compute(std::size_t begin, std::size_t count, const float* last = nullptr);

 private:
  float* bufferOf(std::size_t value) { return memory_.data() + program_.buffers_[value] * kMost; }
  void load(std::size_t input, std::size_t first, std::size_t count, float* to) const;
  const float* loaded(std::size_t input, std::size_t begin, std::size_t count);
  void store(std::size_t output, const float* computed, std::size_t begin, std::size_t count) const;
  bool mayWriteInPlace(std::size_t value, const void* output) const;

  const ElementwiseProgram& program_;
  const std::vector<ElementwiseInput>& inputs_;
  const std::vector<void*>& outputs_;
  std::vector<float> memory_;
  // Where each value of the block is.
  std::vector<const float*> values_;
  // Where each value is written: an output in place, unless an input in the same memory is read later.
  std::vector<float*> targets_;
};

}  // namespace ringrun
