#pragma once

#include <array>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "onnxruntime/operators/table_rows.h"
#include "operators/vectors.h"

namespace ringrun::ort {

// Adds updates to the rows of a table of zeros: the gradient of a lookup. Updates of a row are added in order, so
// bits do not depend on threads.
//
// Inputs: rows […], negative ones from the end; updates […,D]. Output: [count,D]. Attributes: count; padding, a row that
// stays 0, or -1.
template <typename T>
struct AddRows {
  static constexpr const char* kName = "AddRows";
  static constexpr std::array kInputs = {Argument{kInt64}, Argument{kTypeOf<T>}};
  static constexpr std::array kOutputs = {Argument{kFloat32}};

  explicit AddRows(const Attributes& attributes) : count_(attributes.integer("count")), padding_(attributes.integer("padding")) {}

  void compute(Computation& computation) const {
    const auto rows = computation.input<std::int64_t>(0);
    const auto updates = computation.input<T>(1);
    if (updates.shape.axes == 0) throw Error("expected rows of updates, got a number");
    const std::int64_t width = updates.shape.sizes[updates.shape.axes - 1];
    Shape expected = rows.shape;
    expected.sizes[expected.axes++] = width;
    if (updates.shape != expected) throw Error("expected updates " + describe(expected) + ", got " + describe(updates.shape));
    float* const table = computation.output<float>(0, {2, {count_, width}});

    forEachTablePart(computation, table, count_, width, [&](std::int64_t begin, std::int64_t end) {
      const auto updateCount = static_cast<std::int64_t>(rows.count());
      for (std::int64_t i = 0; i < updateCount; ++i) {
        const std::int64_t row = tableRow(rows.data[i], count_);
        if (row < begin || row >= end || row == padding_) continue;
        float* const to = table + row * width;
        const T* const from = updates.data + i * width;
        for (std::int64_t k = 0; k < width; ++k) to[k] += numberOf(from[k]);
      }
    });
  }

 private:
  std::int64_t count_;
  std::int64_t padding_;
};

}  // namespace ringrun::ort
