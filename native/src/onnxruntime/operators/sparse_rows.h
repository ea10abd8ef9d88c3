#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "onnxruntime/operators/embedding_bag.h"
#include "onnxruntime/operators/rows.h"
#include "operators/packed_rows.h"

namespace ringrun::ort {

inline PackedRows packedRowsOf(const Array<const float>& packed, std::int64_t tableRows, std::int64_t width) {
  return {packed.data, packed.count(), static_cast<std::size_t>(tableRows), static_cast<std::size_t>(width)};
}

// The sparse gradient of a lookup in a table: PackedRows with the sum of the updates of each row, added in the order of the
// input, so bits do not depend on threads.
//
// Inputs: rows […], of which negative ones are left out; updates […,D]; optional: for each row the number of its update, and its
// factor. Default: update i with factor 1. Output: packed rows. Attributes: count, the rows of the table; capacity.
struct SparseRows {
  static constexpr const char* kName = "SparseRows";
  static constexpr std::array kInputs = {Argument{kInt64}, Argument{kFloat32}, Argument{kInt64, kOptional}, Argument{kFloat32, kOptional}};
  static constexpr std::array kOutputs = {Argument{kFloat32}};

  explicit SparseRows(const Attributes& attributes)
      : count_(attributes.integer("count")), capacity_(static_cast<std::size_t>(attributes.integer("capacity"))) {}

  void compute(Computation& computation) const {
    const auto rows = computation.input<std::int64_t>(0);
    const auto updates = computation.input<float>(1);
    const std::int64_t* const sources = computation.optionalInput<std::int64_t>(2, rows.shape);
    const float* const factors = computation.optionalInput<float>(3, rows.shape);
    if (updates.shape.axes == 0) throw Error("expected rows of updates, got a number");
    const auto width = static_cast<std::size_t>(updates.shape.sizes[updates.shape.axes - 1]);
    const std::size_t given = width == 0 ? rows.count() : updates.count() / width;
    if (sources == nullptr && given != rows.count()) {
      throw Error("expected an update for each of " + std::to_string(rows.count()) + " rows, got " + describe(updates.shape));
    }
    for (std::size_t i = 0; sources != nullptr && i < rows.count(); ++i) {
      if (sources[i] < 0 || static_cast<std::size_t>(sources[i]) >= given) throw Error("expected updates below " + std::to_string(given) + ", got " + std::to_string(sources[i]));
    }
    order_.sort(rows.data, rows.count(), count_);
    if (order_.distinct() > capacity_) throw Error("expected at most " + std::to_string(capacity_) + " rows, got " + std::to_string(order_.distinct()));
    float* const packed = computation.output<float>(0, {1, {static_cast<std::int64_t>(packedLength(capacity_, width))}});
    const PackedRowsWriter writer(packed, order_.distinct(), capacity_);
    const std::size_t perRow = width * (1 + rows.count() / std::max<std::size_t>(1, order_.distinct()));
    forEachRow(computation, order_.distinct(), perRow, [&](std::size_t i) {
      writer.setIndex(i, order_.row(i));
      float* const to = writer.values() + i * width;
      for (std::size_t at = order_.begin(i); at < order_.end(i); ++at) {
        const std::size_t place = order_.place(at);
        const float* const from = updates.data + (sources == nullptr ? place : static_cast<std::size_t>(sources[place])) * width;
        const float factor = factors == nullptr ? 1.0f : factors[place];
        if (at == order_.begin(i)) {
          for (std::size_t k = 0; k < width; ++k) to[k] = factor * from[k];
        } else {
          for (std::size_t k = 0; k < width; ++k) to[k] += factor * from[k];
        }
      }
    });
  }

 private:
  std::int64_t count_;
  std::size_t capacity_;
  mutable RowOrder order_;
};

// The values [capacity,width] of packed rows, with 0 after the last row. Attributes: count, the rows of the table; width.
struct SparseRowValues {
  static constexpr const char* kName = "SparseRowValues";
  static constexpr std::array kInputs = {Argument{kFloat32}};
  static constexpr std::array kOutputs = {Argument{kFloat32}};

  explicit SparseRowValues(const Attributes& attributes) : count_(attributes.integer("count")), width_(attributes.integer("width")) {}

  void compute(Computation& computation) const {
    const PackedRows rows = packedRowsOf(computation.input<float>(0), count_, width_);
    float* const to = computation.output<float>(0, {2, {static_cast<std::int64_t>(rows.capacity()), width_}});
    const auto width = static_cast<std::size_t>(width_);
    std::copy_n(rows.values(), rows.count() * width, to);
    std::fill(to + rows.count() * width, to + rows.capacity() * width, 0.0f);
  }

 private:
  std::int64_t count_;
  std::int64_t width_;
};

// The dense form [count,width] of packed rows. Inputs: packed rows; optional: their values [capacity,width], in place of the
// packed ones. Attributes: count, width.
struct DenseRows {
  static constexpr const char* kName = "DenseRows";
  static constexpr std::array kInputs = {Argument{kFloat32}, Argument{kFloat32, kOptional}};
  static constexpr std::array kOutputs = {Argument{kFloat32}};

  explicit DenseRows(const Attributes& attributes) : count_(attributes.integer("count")), width_(attributes.integer("width")) {}

  void compute(Computation& computation) const {
    const PackedRows rows = packedRowsOf(computation.input<float>(0), count_, width_);
    const float* const given = computation.optionalInput<float>(1, {2, {static_cast<std::int64_t>(rows.capacity()), width_}});
    float* const to = computation.output<float>(0, {2, {count_, width_}});
    const auto width = static_cast<std::size_t>(width_);
    std::fill_n(to, static_cast<std::size_t>(count_) * width, 0.0f);
    const float* const values = given == nullptr ? rows.values() : given;
    for (std::size_t i = 0; i < rows.count(); ++i) std::copy_n(values + i * width, width, to + rows.index(i) * width);
  }

 private:
  std::int64_t count_;
  std::int64_t width_;
};

// The rows of bags as SparseRows reads them. Inputs: rows; optional: offsets; weights, as those of EmbeddingBag. Outputs, in the
// shape of the rows: the rows, -1 for padding; the bag of each row; the factor of its gradient. Attributes: those of EmbeddingBag;
// count, the rows of the table.
struct BagPlaces {
  static constexpr const char* kName = "BagPlaces";
  static constexpr std::array kInputs = {Argument{kInt64}, Argument{kInt64, kOptional}, Argument{kFloat32, kOptional}};
  static constexpr std::array kOutputs = {Argument{kInt64}, Argument{kInt64}, Argument{kFloat32}};

  explicit BagPlaces(const Attributes& attributes) : bags_(attributes), count_(attributes.integer("count")) {}

  void compute(Computation& computation) const {
    const auto given = computation.input<std::int64_t>(0);
    const float* const weights = computation.optionalInput<float>(2, given.shape);
    bags_.read(given, computation.input<std::int64_t>(1), {2, {count_, 1}});
    auto* const rows = computation.output<std::int64_t>(0, given.shape);
    auto* const bags = computation.output<std::int64_t>(1, given.shape);
    float* const factors = computation.output<float>(2, given.shape);
    std::fill_n(rows, given.count(), std::int64_t{-1});
    std::fill_n(bags, given.count(), std::int64_t{0});
    std::fill_n(factors, given.count(), 0.0f);
    for (std::size_t bag = 0; bag < static_cast<std::size_t>(bags_.count); ++bag) {
      for (std::size_t i = bags_.begin(bag); i < bags_.end(bag); ++i) {
        const auto place = static_cast<std::size_t>(bags_.place(i));
        rows[place] = bags_.row(i);
        bags[place] = static_cast<std::int64_t>(bag);
        factors[place] = weights == nullptr ? bags_.scale(bag) : weights[place];
      }
    }
  }

 private:
  mutable Bags bags_;
  std::int64_t count_;
};

}  // namespace ringrun::ort
