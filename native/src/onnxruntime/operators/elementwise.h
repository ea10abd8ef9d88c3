#pragma once

#include <algorithm>

#include "onnxruntime/operator.h"
#include "onnxruntime/operators/program_arrays.h"

namespace ringrun::ort {

// A program of elementwise instructions (program_arrays.h).
struct Elementwise {
  static constexpr const char* kName = "Elementwise";
  static constexpr auto kInputs = programArguments();
  static constexpr auto kOutputs = programArguments();

  explicit Elementwise(const Attributes& attributes) : arrays_(attributes) {}

  void compute(Computation& computation) const {
    // Elements that one thread computes at a time.
    constexpr std::size_t kChunk = 1 << 14;
    const std::size_t count = arrays_.count();
    const auto inputs = arrays_.inputs(computation);
    const auto outputs = arrays_.outputs(computation);
    computation.parallelFor((count + kChunk - 1) / kChunk, [&](std::size_t chunk) {
      arrays_.program().compute(inputs, outputs, chunk * kChunk, std::min(count, (chunk + 1) * kChunk));
    });
  }

 private:
  ProgramArrays arrays_;
};

}  // namespace ringrun::ort
