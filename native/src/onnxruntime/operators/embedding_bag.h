#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "onnxruntime/library.h"
#include "onnxruntime/operator.h"
#include "onnxruntime/operators/rows.h"
#include "onnxruntime/operators/table_rows.h"
#include "operators/weighted_rows.h"

namespace ringrun::ort {

enum class BagMode { Sum, Mean, Max };

// Bags of rows of a table [V,D]: the rows without padding, with the position of each among all given rows.
//
// Rows [T] and offsets [B], where a bag reaches from its offset to the next one; or rows [B,L] without offsets.
class Bags {
 public:
  explicit Bags(const Attributes& attributes) : mode(static_cast<BagMode>(attributes.integer("mode"))), padding_(attributes.integer("padding")) {}

  void read(const Array<const std::int64_t>& given, const Array<const std::int64_t>& offsets, const Shape& table) {
    if (table.axes != 2 || given.shape.axes != (offsets ? 1u : 2u)) {
      throw Error("expected a table [V,D] and rows " + std::string(offsets ? "[T]" : "[B,L]") + ", got " + describe(table) + " and " + describe(given.shape));
    }
    width = table.sizes[1];
    count = offsets ? offsets.shape.sizes[0] : given.shape.sizes[0];
    const auto total = static_cast<std::int64_t>(given.count());
    if (offsets && count > 0 && offsets.data[0] != 0) throw Error("expected 0 as the first offset, got " + std::to_string(offsets.data[0]));
    rows_.clear();
    places_.clear();
    ends_.assign(1, 0);
    for (std::int64_t bag = 0; bag < count; ++bag) {
      const std::int64_t begin = offsets ? offsets.data[bag] : bag * given.shape.sizes[1];
      const std::int64_t end = !offsets ? begin + given.shape.sizes[1] : bag + 1 < count ? offsets.data[bag + 1] : total;
      if (begin < 0 || begin > end || end > total) {
        throw Error("expected increasing offsets from 0 to " + std::to_string(total) + ", got " + std::to_string(begin) + " and " + std::to_string(end));
      }
      for (std::int64_t place = begin; place < end; ++place) {
        const std::int64_t row = tableRow(given.data[place], table.sizes[0]);
        if (row == padding_) continue;
        rows_.push_back(row);
        places_.push_back(place);
      }
      ends_.push_back(rows_.size());
    }
  }

  Shape shape() const { return {2, {count, width}}; }

  std::size_t begin(std::size_t bag) const { return ends_[bag]; }
  std::size_t end(std::size_t bag) const { return ends_[bag + 1]; }
  std::size_t total() const { return rows_.size(); }
  std::size_t size(std::size_t bag) const { return end(bag) - begin(bag); }
  std::int64_t row(std::size_t i) const { return rows_[i]; }
  std::int64_t place(std::size_t i) const { return places_[i]; }
  const std::int64_t* rows(std::size_t bag) const { return rows_.data() + begin(bag); }

  // Factor of a bag's gradient.
  float scale(std::size_t bag) const { return mode == BagMode::Mean ? 1.0f / static_cast<float>(size(bag)) : 1.0f; }

  BagMode mode;
  std::int64_t count = 0;
  std::int64_t width = 0;

 private:
  std::int64_t padding_;
  std::vector<std::int64_t> rows_;
  std::vector<std::int64_t> places_;
  std::vector<std::size_t> ends_;
};

// Inputs: table [V,D]; rows, negative ones from the end; optional: offsets; weights of the rows, of the same shape, only for
// the sum. Outputs: sums, means or maxima [B,D], 0 for a bag without rows; in max mode, optionally also the row index of each
// maximum [B,D], or -1. Attributes: mode, a BagMode; padding, a row that is left out, or -1.
struct EmbeddingBag {
  static constexpr const char* kName = "EmbeddingBag";
  static constexpr std::array kInputs = {Argument{kFloat32}, Argument{kInt64}, Argument{kInt64, kOptional}, Argument{kFloat32, kOptional}};
  static constexpr std::array kOutputs = {Argument{kFloat32}, Argument{kInt64, kOptional}};

  explicit EmbeddingBag(const Attributes& attributes) : bags_(attributes) {}

  void compute(Computation& computation) const {
    const auto table = computation.input<float>(0);
    const auto rows = computation.input<std::int64_t>(1);
    const float* const given = computation.optionalInput<float>(3, rows.shape);
    const bool isWeighted = given != nullptr;
    bags_.read(rows, computation.input<std::int64_t>(2), table.shape);
    float* const output = computation.output<float>(0, bags_.shape());
    std::int64_t* const winners = bags_.mode == BagMode::Max ? computation.output<std::int64_t>(1, bags_.shape()) : nullptr;
    const auto width = static_cast<std::size_t>(bags_.width);
    const auto count = static_cast<std::size_t>(bags_.count);
    weights_.clear();
    for (std::size_t i = 0; isWeighted && i < bags_.total(); ++i) weights_.push_back(given[bags_.place(i)]);
    // Elements of the rows of a bag.
    const std::size_t perBag = width * (1 + bags_.total() / std::max<std::size_t>(1, count));
    forEachRow(computation, count, perBag, [&](std::size_t bag) {
      float* const to = output + bag * width;
      if (bags_.mode == BagMode::Max) return largest(table.data, bag, to, elementsFrom(winners, bag * width));
      const float* const weights = isWeighted ? weights_.data() + bags_.begin(bag) : nullptr;
      sumOfRows(table.data, width, bags_.rows(bag), weights, bags_.size(bag), to);
      if (bags_.mode == BagMode::Sum || bags_.size(bag) == 0) return;
      const auto size = static_cast<float>(bags_.size(bag));
      for (std::size_t k = 0; k < width; ++k) to[k] /= size;
    });
  }

 private:
  void largest(const float* table, std::size_t bag, float* to, std::int64_t* winners) const {
    const auto width = static_cast<std::size_t>(bags_.width);
    std::fill_n(to, width, 0.0f);
    if (winners != nullptr) std::fill_n(winners, width, std::int64_t{-1});
    for (std::size_t i = bags_.begin(bag); i < bags_.end(bag); ++i) {
      const float* const row = table + static_cast<std::size_t>(bags_.row(i)) * width;
      for (std::size_t k = 0; k < width; ++k) {
        if (i > bags_.begin(bag) && !(row[k] > to[k])) continue;
        to[k] = row[k];
        if (winners != nullptr) winners[k] = bags_.row(i);
      }
    }
  }

  mutable Bags bags_;
  mutable std::vector<float> weights_;
};

// Inputs: gradient [B,D]; rows; table; optional: offsets; weights; in max mode, the second output of EmbeddingBag. Outputs, each
// optional: the gradients of the table [V,D] and of the weights. Attributes: see EmbeddingBag.
struct EmbeddingBagGradient {
  static constexpr const char* kName = "EmbeddingBagGradient";
  static constexpr std::array kInputs = {Argument{kFloat32},          Argument{kInt64},             Argument{kFloat32},
                                         Argument{kInt64, kOptional}, Argument{kFloat32, kOptional}, Argument{kInt64, kOptional}};
  static constexpr std::array kOutputs = {Argument{kFloat32, kOptional}, Argument{kFloat32, kOptional}};

  explicit EmbeddingBagGradient(const Attributes& attributes) : bags_(attributes) {}

  void compute(Computation& computation) const {
    const auto rows = computation.input<std::int64_t>(1);
    const auto table = computation.input<float>(2);
    bags_.read(rows, computation.input<std::int64_t>(3), table.shape);
    const auto gradient = computation.input<float>(0, bags_.shape());
    const float* const weights = computation.optionalInput<float>(4, rows.shape);
    const std::int64_t* const winners = bags_.mode == BagMode::Max ? computation.input<std::int64_t>(5, bags_.shape()).data : nullptr;
    float* const dTable = computation.output<float>(0, table.shape);
    float* const dWeights = weights != nullptr ? computation.output<float>(1, rows.shape) : nullptr;
    if (dTable != nullptr) {
      forEachTablePart(computation, dTable, table.shape.sizes[0], bags_.width, [&](std::int64_t begin, std::int64_t end) {
        if (winners != nullptr) addToWinners(gradient.data, winners, begin, end, dTable);
        else addToRows(gradient.data, weights, begin, end, dTable);
      });
    }
    if (dWeights != nullptr) {
      std::fill_n(dWeights, rows.count(), 0.0f);
      const auto width = static_cast<std::size_t>(bags_.width);
      for (std::size_t bag = 0; bag < static_cast<std::size_t>(bags_.count); ++bag) {
        for (std::size_t i = bags_.begin(bag); i < bags_.end(bag); ++i) {
          dWeights[bags_.place(i)] = innerProduct(gradient.data + bag * width, table.data + static_cast<std::size_t>(bags_.row(i)) * width, width);
        }
      }
    }
  }

 private:
  // In the order of the bags and their rows, so bits do not depend on threads.
  void addToRows(const float* gradient, const float* weights, std::int64_t begin, std::int64_t end, float* dTable) const {
    const auto width = static_cast<std::size_t>(bags_.width);
    for (std::size_t bag = 0; bag < static_cast<std::size_t>(bags_.count); ++bag) {
      for (std::size_t i = bags_.begin(bag); i < bags_.end(bag); ++i) {
        const std::int64_t row = bags_.row(i);
        if (row < begin || row >= end) continue;
        const float weight = weights == nullptr ? bags_.scale(bag) : weights[bags_.place(i)];
        addScaled(gradient + bag * width, weight, width, dTable + static_cast<std::size_t>(row) * width);
      }
    }
  }

  void addToWinners(const float* gradient, const std::int64_t* winners, std::int64_t begin, std::int64_t end, float* dTable) const {
    for (std::int64_t i = 0; i < bags_.count * bags_.width; ++i) {
      if (winners[i] >= begin && winners[i] < end) dTable[winners[i] * bags_.width + i % bags_.width] += gradient[i];
    }
  }

  mutable Bags bags_;
};

}  // namespace ringrun::ort
