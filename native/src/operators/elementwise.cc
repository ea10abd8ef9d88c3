#include "operators/elementwise.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "operators/elementwise_kernels.h"
#include "reduce/formats16.h"
#include "reduce/widen.h"

namespace ringrun {
namespace {

#if defined(__x86_64__)
const ElementwiseKernel* kernels() {
  static const bool kHasAvx2 = Avx2::isHere();
  return kHasAvx2 ? ElementwiseKernels<Avx2Elementwise>::kAll : ElementwiseKernels<Sse2Elementwise>::kAll;
}
#elif defined(__aarch64__)
const ElementwiseKernel* kernels() { return ElementwiseKernels<NeonElementwise>::kAll; }
#else
const ElementwiseKernel* kernels() { return ElementwiseKernels<PlainElementwise>::kAll; }
#endif

struct Signature {
  std::size_t operands;
  bool readsConditions;  // the first operand of Where, both of Or
  bool givesCondition;
};

Signature signatureOf(Opcode op) {
  switch (op) {
    case Opcode::Add:
    case Opcode::Sub:
    case Opcode::Mul:
    case Opcode::Div:
    case Opcode::Max:
    case Opcode::Min:
    case Opcode::GeluGradient:
    case Opcode::TanhGeluGradient: return {2, false, false};
    case Opcode::Neg:
    case Opcode::Sqrt:
    case Opcode::Abs:
    case Opcode::Relu:
    case Opcode::Gelu:
    case Opcode::TanhGelu:
    case Opcode::Round: return {1, false, false};
    case Opcode::Greater:
    case Opcode::GreaterOrEqual:
    case Opcode::LessOrEqual:
    case Opcode::Equal: return {2, false, true};
    case Opcode::IsNaN: return {1, false, true};
    case Opcode::Or: return {2, true, true};
    case Opcode::Where: return {3, true, false};
  }
  throw std::invalid_argument("unknown opcode " + std::to_string(static_cast<std::int64_t>(op)));
}

bool readsCondition(Opcode op, std::size_t operand) { return signatureOf(op).readsConditions && (op == Opcode::Or || operand == 0); }

std::size_t roundedUp(std::size_t count) { return (count + kLongestVector - 1) / kLongestVector * kLongestVector; }

void loadCondition(const std::uint8_t* from, float* to, std::size_t count) {
  auto* const masks = reinterpret_cast<char*>(to);
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t mask = -static_cast<std::int32_t>(from[i] != 0);
    std::memcpy(masks + i * sizeof mask, &mask, sizeof mask);
  }
}

void storeCondition(const float* from, std::uint8_t* to, std::size_t count) {
  const auto* const masks = reinterpret_cast<const char*>(from);
  for (std::size_t i = 0; i < count; ++i) {
    std::int32_t mask;
    std::memcpy(&mask, masks + i * sizeof mask, sizeof mask);
    to[i] = static_cast<std::uint8_t>(mask & 1);
  }
}

}  // namespace

ElementwiseProgram::ElementwiseProgram(Definition definition) : definition_(std::move(definition)) {
  requireValid();
  assignBuffers();
}

bool ElementwiseProgram::isCondition(std::size_t value) const {
  if (value < inputCount()) return definition_.inputs.isCondition(value);
  return signatureOf(definition_.instructions[value - inputCount()].op).givesCondition;
}

void ElementwiseProgram::requireValid() const {
  const auto require = [](bool holds, const std::string& problem) {
    if (!holds) throw std::invalid_argument(problem);
  };
  const auto& instructions = definition_.instructions;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const auto& [op, operands] = instructions[i];
    for (std::size_t k = 0; k < kMaxOperands; ++k) {
      if (k >= signatureOf(op).operands) {
        require(operands[k] == 0, "instruction " + std::to_string(i) + ": expected 0 for operands that it does not have");
        continue;
      }
      const std::string where = "operand " + std::to_string(k) + " of instruction " + std::to_string(i);
      require(operands[k] < inputCount() + i, where + ": expected an earlier value, got " + std::to_string(operands[k]));
      require(isCondition(operands[k]) == readsCondition(op, k), where + ": expected a " + (readsCondition(op, k) ? "condition" : "number"));
    }
  }
  require(definition_.results.size() == definition_.outputs.total(), "outputs: expected one value for each");
  for (std::size_t k = 0; k < definition_.results.size(); ++k) {
    const std::size_t value = definition_.results[k];
    const bool isExpected = definition_.outputs.isCondition(k);
    require(value < inputCount() + instructions.size(), "output: expected a value, got " + std::to_string(value));
    require(isCondition(value) == isExpected, std::string("output: expected a ") + (isExpected ? "condition" : "number"));
  }
}

// Values reuse the buffers of values whose last reader has run. Inputs are loaded before the first instruction.
void ElementwiseProgram::assignBuffers() {
  const auto& instructions = definition_.instructions;
  lastReaders_.assign(inputCount() + instructions.size(), 0);
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    for (std::size_t k = 0; k < signatureOf(instructions[i].op).operands; ++k) lastReaders_[instructions[i].operands[k]] = i;
  }
  for (const std::size_t value : definition_.results) lastReaders_[value] = instructions.size();

  std::vector<std::size_t> free;
  const auto take = [&] {
    if (free.empty()) return bufferCount_++;
    const std::size_t buffer = free.back();
    free.pop_back();
    return buffer;
  };
  for (std::size_t value = 0; value < inputCount(); ++value) buffers_.push_back(take());
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const auto& operands = instructions[i].operands;
    const std::size_t count = signatureOf(instructions[i].op).operands;
    buffers_.push_back(take());
    for (std::size_t k = 0; k < count; ++k) {
      const bool isRepeated = std::find(operands, operands + k, operands[k]) != operands + k;
      // A number that is the same for all elements is loaded once for many blocks, so it keeps its buffer.
      const bool mayBeScalar = operands[k] < inputCount();
      if (lastReaders_[operands[k]] == i && !isRepeated && !mayBeScalar) free.push_back(buffers_[operands[k]]);
    }
  }
}

void ElementwiseProgram::compute(const std::vector<ElementwiseInput>& inputs, const std::vector<void*>& outputs, std::size_t begin,
                                 std::size_t end) const {
  if (inputs.size() != inputCount()) throw std::invalid_argument("expected " + std::to_string(inputCount()) + " inputs, got " + std::to_string(inputs.size()));
  ElementwiseRun run(*this, inputs, outputs);
  for (std::size_t block = begin; block < end; block += ElementwiseRun::kMost) run.compute(block, std::min(ElementwiseRun::kMost, end - block));
}

ElementwiseRun::ElementwiseRun(const ElementwiseProgram& program, const std::vector<ElementwiseInput>& inputs, const std::vector<void*>& outputs)
    // Initialised, because whole vectors are computed beyond the last element.
    : program_(program), inputs_(inputs), outputs_(outputs), memory_(program.bufferCount_ * kMost), values_(program.buffers_.size()),
      targets_(program.buffers_.size(), nullptr) {
  const auto& definition = program.definition_;
  if (outputs.size() != definition.results.size()) {
    throw std::invalid_argument("expected " + std::to_string(definition.results.size()) + " outputs, got " + std::to_string(outputs.size()));
  }
  for (std::size_t value = 0; value < values_.size(); ++value) values_[value] = bufferOf(value);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].period != 1) continue;
    load(i, 0, 1, bufferOf(i));
    std::fill_n(bufferOf(i), kMost, *bufferOf(i));
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const std::size_t value = definition.results[k];
    const bool isFloat = !definition.outputs.isCondition(k) && !definition.outputs.isBFloat(k);
    const bool isComputed = value >= definition.inputs.total();
    if (isFloat && isComputed && outputs[k] != nullptr && mayWriteInPlace(value, outputs[k])) targets_[value] = static_cast<float*>(outputs[k]);
  }
}

bool ElementwiseRun::mayWriteInPlace(std::size_t value, const void* output) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].data == output && program_.lastReaders_[i] > value - program_.inputCount()) return false;
  }
  return true;
}

void ElementwiseRun::load(std::size_t input, std::size_t first, std::size_t count, float* to) const {
  const void* const data = inputs_[input].data;
  if (program_.isCondition(input)) {
    loadCondition(static_cast<const std::uint8_t*>(data) + first, to, count);
  } else if (program_.definition_.inputs.isBFloat(input)) {
    widen(DType::BFloat16, static_cast<const std::uint16_t*>(data) + first, to, count);
  } else {
    std::memcpy(to, static_cast<const float*>(data) + first, count * sizeof(float));
  }
}

const float* ElementwiseRun::loaded(std::size_t input, std::size_t begin, std::size_t count) {
  const std::size_t period = inputs_[input].period;
  if (period == 1) return bufferOf(input);
  const std::size_t first = period == 0 ? begin : begin % period;
  const bool isInOnePart = period == 0 || first + count <= period;
  const bool isFloat = !program_.isCondition(input) && !program_.definition_.inputs.isBFloat(input);
  if (isInOnePart && isFloat && roundedUp(count) == count) return static_cast<const float*>(inputs_[input].data) + first;
  if (isInOnePart) {
    load(input, first, count, bufferOf(input));
    return bufferOf(input);
  }
  for (std::size_t done = 0; done < count;) {
    const std::size_t at = (begin + done) % period;
    const std::size_t part = std::min(count - done, period - at);
    load(input, at, part, bufferOf(input) + done);
    done += part;
  }
  return bufferOf(input);
}

void ElementwiseRun::store(std::size_t output, const float* computed, std::size_t begin, std::size_t count) const {
  const auto& outputs = program_.definition_.outputs;
  if (outputs.isCondition(output)) {
    storeCondition(computed, static_cast<std::uint8_t*>(outputs_[output]) + begin, count);
  } else if (outputs.isBFloat(output)) {
    narrow(DType::BFloat16, computed, static_cast<std::uint16_t*>(outputs_[output]) + begin, count);
  } else if (float* const to = static_cast<float*>(outputs_[output]) + begin; computed != to) {
    std::copy_n(computed, count, to);
  }
}

void ElementwiseRun::compute(std::size_t begin, std::size_t count, const float* last) {
  static const ElementwiseKernel* const run = kernels();
  const auto& instructions = program_.definition_.instructions;
  const std::size_t inputs = program_.inputCount();
  const std::size_t rounded = roundedUp(count);
  const bool isWhole = rounded == count;
  for (std::size_t i = 0; i < inputs_.size(); ++i) values_[i] = loaded(i, begin, count);
  if (inputs_.size() < inputs) values_[inputs - 1] = last;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const auto& [op, operands] = instructions[i];
    const std::size_t value = inputs + i;
    float* const to = isWhole && targets_[value] != nullptr ? targets_[value] + begin : bufferOf(value);
    const float* const read[kMaxOperands] = {values_[operands[0]], values_[operands[1]], values_[operands[2]]};
    run[static_cast<std::size_t>(op)](to, read, rounded);
    values_[value] = to;
  }
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    if (outputs_[k] != nullptr) store(k, values_[program_.definition_.results[k]], begin, count);
  }
}

}  // namespace ringrun
