#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "onnxruntime/operators/rows.h"
#include "onnxruntime/operators/sparse_rows.h"
#include "operators/packed_rows.h"

namespace ringrun::ort {

// p ← p − rate·g
struct SgdOfRows {
  static constexpr const char* kName = "SgdOfRows";
  static constexpr std::size_t kStates = 0;
  static constexpr std::size_t kNumbers = 1;

  static void update(float* p, const std::array<float*, 1>&, const float* g, std::size_t width, const std::array<float, kNumbers>& c) {
    for (std::size_t k = 0; k < width; ++k) p[k] -= g[k] * c[0];
  }
};

// s ← s + g², p ← p − rate·g / (√s + eps), with the numbers rate, eps and start. The sums of all rows begin at `start`, if it is not 0.
struct AdagradOfRows {
  static constexpr const char* kName = "AdagradOfRows";
  static constexpr std::size_t kStates = 1;
  static constexpr std::size_t kNumbers = 3;

  static void update(float* p, const std::array<float*, kStates>& states, const float* g, std::size_t width, const std::array<float, kNumbers>& c) {
    float* const sum = states[0];
    for (std::size_t k = 0; k < width; ++k) {
      sum[k] += g[k] * g[k];
      p[k] -= g[k] * c[0] / (std::sqrt(sum[k]) + c[1]);
    }
  }
};

// m ← m + gain₁·(s·g − m), v ← v + gain₂·(g² − v), p ← p − rate·m / (√v + eps), with the numbers rate, gain₁, gain₂, eps and s, the
// sign of the gradient.
struct AdamOfRows {
  static constexpr const char* kName = "AdamOfRows";
  static constexpr std::size_t kStates = 2;
  static constexpr std::size_t kNumbers = 5;

  static void update(float* p, const std::array<float*, kStates>& states, const float* g, std::size_t width, const std::array<float, kNumbers>& c) {
    float* const m = states[0];
    float* const v = states[1];
    for (std::size_t k = 0; k < width; ++k) {
      m[k] += (g[k] * c[4] - m[k]) * c[1];
      v[k] += (g[k] * g[k] - v[k]) * c[2];
      p[k] -= m[k] / (std::sqrt(v[k]) + c[3]) * c[0];
    }
  }
};

// An optimizer's update of the rows of a table that have a gradient. It writes nothing else if each output has the memory of its
// input, as in place; otherwise it copies the input first.
//
// Inputs: table [V,D]; packed rows; states [V,D]; numbers []; optional: values [capacity,D] in place of the packed ones. Outputs:
// table, states.
template <typename Rule>
struct UpdateRows {
  static constexpr std::size_t kTables = 1 + Rule::kStates;
  static constexpr const char* kName = Rule::kName;
  static constexpr std::array<Argument, kTables + 1 + Rule::kNumbers + 1> kInputs = [] {
    std::array<Argument, kTables + 1 + Rule::kNumbers + 1> all{};
    for (Argument& argument : all) argument = Argument{kFloat32};
    all.back() = Argument{kFloat32, kOptional};
    return all;
  }();
  static constexpr std::array<Argument, kTables> kOutputs = [] {
    std::array<Argument, kTables> all{};
    for (Argument& argument : all) argument = Argument{kFloat32};
    return all;
  }();

  explicit UpdateRows(const Attributes&) {}

  void compute(Computation& computation) const {
    const auto table = computation.input<float>(0);
    if (table.shape.axes != 2) throw Error("expected a table [V,D], got " + describe(table.shape));
    const auto width = static_cast<std::size_t>(table.shape.sizes[1]);
    const PackedRows rows = packedRowsOf(computation.input<float>(1), table.shape.sizes[0], table.shape.sizes[1]);
    std::array<float, Rule::kNumbers> numbers;
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = computation.number(kTables + 1 + i);
    const float* const given =
        computation.optionalInput<float>(kInputs.size() - 1, {2, {static_cast<std::int64_t>(rows.capacity()), table.shape.sizes[1]}});
    const float* const values = given == nullptr ? rows.values() : given;
    std::array<float*, kTables> tables;
    for (std::size_t i = 0; i < kTables; ++i) {
      const auto before = i == 0 ? table : computation.input<float>(i + 1, table.shape);
      tables[i] = computation.output<float>(i, table.shape);
      if (tables[i] != before.data) std::memcpy(tables[i], before.data, table.count() * sizeof(float));
    }
    if constexpr (std::is_same_v<Rule, AdagradOfRows>) {
      for (std::size_t i = 0; numbers[2] != 0 && i < table.count(); ++i) tables[1][i] += numbers[2];
    }
    forEachRow(computation, rows.count(), width * kTables, [&](std::size_t i) {
      const std::size_t begin = rows.index(i) * width;
      std::array<float*, Rule::kStates == 0 ? 1 : Rule::kStates> states{};
      for (std::size_t state = 0; state < Rule::kStates; ++state) states[state] = tables[1 + state] + begin;
      Rule::update(tables[0] + begin, states, values + i * width, width, numbers);
    });
  }
};

}  // namespace ringrun::ort
