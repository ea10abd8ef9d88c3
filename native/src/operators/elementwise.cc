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

// Elements of a block. 8 buffers of 2 KiB leave half of a first-level cache of 32 KiB to inputs and outputs.
constexpr std::size_t kValuesBlock = 512;

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
    case Opcode::Min: return {2, false, false};
    case Opcode::Neg:
    case Opcode::Sqrt:
    case Opcode::Abs:
    case Opcode::Relu:
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
    require(value >= inputCount() && value < inputCount() + instructions.size(), "output: expected a computed value, got " + std::to_string(value));
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
  if (inputs.size() != inputCount() || outputs.size() != definition_.results.size()) {
    throw std::invalid_argument("expected " + std::to_string(inputCount()) + " inputs, got " + std::to_string(inputs.size()));
  }
  const ElementwiseKernel* const run = kernels();
  const auto& instructions = definition_.instructions;
  // Initialised, because whole vectors are computed beyond the last element.
  std::vector<float> memory(bufferCount_ * kValuesBlock);
  std::vector<const float*> values(buffers_.size());
  for (std::size_t value = 0; value < buffers_.size(); ++value) values[value] = memory.data() + buffers_[value] * kValuesBlock;
  const auto bufferOf = [&](std::size_t value) { return memory.data() + buffers_[value] * kValuesBlock; };

  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].isScalar) continue;
    if (isCondition(i)) {
      const std::vector<std::uint8_t> copies(kValuesBlock, *static_cast<const std::uint8_t*>(inputs[i].data));
      loadCondition(copies.data(), bufferOf(i), kValuesBlock);
    } else {
      const bool isBFloat = definition_.inputs.isBFloat(i);
      const float number = isBFloat ? BFloat16::widened(*static_cast<const std::uint16_t*>(inputs[i].data)) : *static_cast<const float*>(inputs[i].data);
      std::fill_n(bufferOf(i), kValuesBlock, number);
    }
  }
  // Where each value is written: an output in place, unless an input in the same memory is read later.
  std::vector<float*> targets(buffers_.size(), nullptr);
  const auto mayWriteInPlace = [&](std::size_t value, const void* output) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].data == output && lastReaders_[i] > value - inputCount()) return false;
    }
    return true;
  };
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const std::size_t value = definition_.results[k];
    const bool isFloat = !definition_.outputs.isCondition(k) && !definition_.outputs.isBFloat(k);
    if (isFloat && outputs[k] != nullptr && mayWriteInPlace(value, outputs[k])) targets[value] = static_cast<float*>(outputs[k]);
  }

  for (std::size_t block = begin; block < end; block += kValuesBlock) {
    const std::size_t count = std::min(kValuesBlock, end - block);
    const std::size_t rounded = roundedUp(count);
    const bool isWhole = rounded == count;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].isScalar) continue;
      if (isCondition(i)) {
        loadCondition(static_cast<const std::uint8_t*>(inputs[i].data) + block, bufferOf(i), count);
      } else if (definition_.inputs.isBFloat(i)) {
        widen(DType::BFloat16, static_cast<const std::uint16_t*>(inputs[i].data) + block, bufferOf(i), count);
      } else if (const float* const from = static_cast<const float*>(inputs[i].data) + block; isWhole) {
        values[i] = from;
      } else {
        std::copy_n(from, count, bufferOf(i));
        values[i] = bufferOf(i);
      }
    }
    for (std::size_t i = 0; i < instructions.size(); ++i) {
      const auto& [op, operands] = instructions[i];
      const std::size_t value = inputCount() + i;
      float* const to = isWhole && targets[value] != nullptr ? targets[value] + block : bufferOf(value);
      const float* const read[kMaxOperands] = {values[operands[0]], values[operands[1]], values[operands[2]]};
      run[static_cast<std::size_t>(op)](to, read, rounded);
      values[value] = to;
    }
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (outputs[k] == nullptr) continue;
      const float* const computed = values[definition_.results[k]];
      if (definition_.outputs.isCondition(k)) {
        storeCondition(computed, static_cast<std::uint8_t*>(outputs[k]) + block, count);
      } else if (definition_.outputs.isBFloat(k)) {
        narrow(DType::BFloat16, computed, static_cast<std::uint16_t*>(outputs[k]) + block, count);
      } else if (float* const to = static_cast<float*>(outputs[k]) + block; computed != to) {
        std::copy_n(computed, count, to);
      }
    }
  }
}

}  // namespace ringrun
