#pragma once

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "onnxruntime/operator.h"
#include "operators/attention.h"

namespace ringrun::ort {

// Where the heads of an operand are in its array: [first element, stride of rows, stride of each batch dimension].
class HeadLayout {
 public:
  explicit HeadLayout(const std::vector<std::int64_t>& numbers) : numbers_(numbers.begin(), numbers.end()) {}

  std::size_t rowStride() const { return numbers_[1]; }
  std::size_t batchAxes() const { return numbers_.size() - 2; }

  // The first element of a head, numbered in row-major order of the batch dimensions.
  std::size_t firstOf(std::size_t head, const std::vector<std::size_t>& batch) const {
    std::size_t first = numbers_[0];
    for (std::size_t axis = batch.size(); axis-- > 0; head /= batch[axis]) first += head % batch[axis] * numbers_[2 + axis];
    return first;
  }

 private:
  std::vector<std::size_t> numbers_;
};

// What Attention and its gradient share. Attributes: sizes, [queries, keys, size of a query, size of a value, batch
// dimensions…]; query, key, value and result, each a HeadLayout whose last stride is 1 element; isCausal; mask, a HeadLayout
// whose batch dimensions follow the stride of queries and that of keys, both 0 where the mask broadcasts.
class AttentionNode {
 public:
  explicit AttentionNode(const Attributes& attributes)
      : query(attributes.integers("query")),
        key(attributes.integers("key")),
        value(attributes.integers("value")),
        result(attributes.integers("result")),
        isCausal_(attributes.integer("isCausal") != 0),
        mask_(attributes.integers("mask")) {
    const std::vector<std::int64_t> sizes = attributes.integers("sizes");
    queries = sizes[0];
    keys = sizes[1];
    size = sizes[2];
    valueSize = sizes[3];
    batch.assign(sizes.begin() + 4, sizes.end());
    heads = std::accumulate(batch.begin(), batch.end(), std::size_t{1}, [](std::size_t a, std::size_t b) { return a * b; });
    for (const HeadLayout* layout : {&query, &key, &value, &result}) {
      if (layout->batchAxes() != batch.size()) throw Error("expected a stride for each batch dimension");
    }
  }

  HeadLayout query, key, value, result;
  std::size_t queries, keys, size, valueSize, heads;
  std::vector<std::size_t> batch;

  template <typename T>
  AttentionRows<T> rowsOf(T* array, const HeadLayout& layout, std::size_t head) const {
    return {array + layout.firstOf(head, batch), layout.rowStride()};
  }

  template <typename T>
  AttentionOperands<T> operands(const Computation& computation, std::size_t firstInput, std::size_t head) const {
    return {queries, keys, size, valueSize, rowsOf(computation.input<T>(firstInput).data, query, head),
            rowsOf(computation.input<T>(firstInput + 1).data, key, head), rowsOf(computation.input<T>(firstInput + 2).data, value, head)};
  }

  // Reads the inputs from `first` on: the scale; optional: the mask, key and limit of the mask of dropout [2], its factor.
  void readScores(const Computation& computation, std::size_t first) {
    scale_ = computation.number(first);
    added_ = nullptr;
    allowed_ = nullptr;
    const int type = computation.elementType(first + 1);
    if (type == kFloat32) added_ = computation.input<float>(first + 1).data;
    else if (type == kBool) allowed_ = computation.input<std::uint8_t>(first + 1).data;
    else if (type != kAnyType) throw Error("expected a mask of bool or float32, got the type " + std::to_string(type));
    const auto numbers = computation.input<std::int64_t>(first + 2);
    drops_ = static_cast<bool>(numbers);
    if (!drops_) return;
    computation.input<std::int64_t>(first + 2, {1, {2}});
    dropout_ = {static_cast<std::uint64_t>(numbers.data[0]), static_cast<std::uint32_t>(numbers.data[1]), computation.number(first + 3)};
  }

  AttentionScores scores(std::size_t head) const {
    AttentionScores scores{scale_, isCausal_};
    if (added_ != nullptr || allowed_ != nullptr) {
      std::size_t at = 0;
      std::size_t rest = head;
      for (std::size_t axis = batch.size(); axis-- > 0; rest /= batch[axis]) at += rest % batch[axis] * mask_[2 + axis];
      scores.added = elementsFrom(added_, at);
      scores.allowed = elementsFrom(allowed_, at);
      scores.maskQueryStride = mask_[0];
      scores.maskKeyStride = mask_[1];
    }
    if (drops_) {
      scores.dropout = &dropout_;
      scores.firstWeight = std::uint64_t{head} * queries * keys;
    }
    return scores;
  }

 private:
  bool isCausal_;
  std::vector<std::int64_t> mask_;
  // Of the run in progress.
  float scale_ = 1;
  const float* added_ = nullptr;
  const std::uint8_t* allowed_ = nullptr;
  bool drops_ = false;
  DropoutMask dropout_{};
};

inline Shape shapeOf(const std::vector<std::int64_t>& sizes) {
  Shape shape;
  shape.axes = sizes.size();
  std::copy(sizes.begin(), sizes.end(), shape.sizes.begin());
  return shape;
}

// Inputs: arrays with queries, keys and values; the scale, a number; optional: a mask (bool: false where a query must not
// attend to a key; float32: added to the scores); key and limit of the mask of dropout [2]; its scale.
// Outputs: an array of the attribute `resultShape`; optional: the statistics of the
// scores of each head, the largest ones and then the inverse sums, [heads, 2, queries].
template <typename T>
struct Attention {
  static constexpr const char* kName = "Attention";
  static constexpr Argument kArray = {kTypeOf<T>};
  static constexpr std::array kInputs = {kArray, kArray, kArray, Argument{kFloat32}, Argument{kAnyType, kOptional}, Argument{kInt64, kOptional},
                                         Argument{kFloat32, kOptional}};
  static constexpr std::array kOutputs = {kArray, Argument{kFloat32, kOptional}};

  explicit Attention(const Attributes& attributes) : node_(attributes), resultShape_(shapeOf(attributes.integers("resultShape"))) {}

  void compute(Computation& computation) const {
    AttentionNode& node = node_;
    node.readScores(computation, 3);
    T* const result = computation.output<T>(0, resultShape_);
    float* const statistics =
        computation.output<float>(1, {3, {static_cast<std::int64_t>(node.heads), 2, static_cast<std::int64_t>(node.queries)}});
    const std::size_t parts = (node.queries + kQueriesOfPart - 1) / kQueriesOfPart;
    computation.parallelFor(node.heads * parts, [&](std::size_t index) {
      const std::size_t head = index / parts;
      const std::size_t part = index % parts;
      attend<T>(node.operands<T>(computation, 0, head), node.scores(head), node.queries * part / parts, node.queries * (part + 1) / parts,
                node.rowsOf(result, node.result, head),
                {elementsFrom(statistics, 2 * head * node.queries), elementsFrom(statistics, (2 * head + 1) * node.queries)});
    });
  }

 private:
  // Queries of one call. Each call packs the keys again, which costs little beside products with so many queries.
  static constexpr std::size_t kQueriesOfPart = 512;

  mutable AttentionNode node_;
  Shape resultShape_;
};

// Inputs: the gradient of Attention's result, its first three inputs, its outputs, its other inputs. Outputs: up to three
// arrays like those of queries, keys and values; the attribute `targets` has the output that each of their gradients is
// written to.
template <typename T>
struct AttentionGradient {
  static constexpr const char* kName = "AttentionGradient";
  static constexpr Argument kArray = {kTypeOf<T>};
  static constexpr Argument kMaybe = {kTypeOf<T>, kOptional};
  static constexpr std::array kInputs = {kArray, kArray, kArray, kArray, kArray, Argument{kFloat32}, Argument{kFloat32},
                                         Argument{kAnyType, kOptional}, Argument{kInt64, kOptional}, Argument{kFloat32, kOptional}};
  static constexpr std::array kOutputs = {kArray, kMaybe, kMaybe};

  explicit AttentionGradient(const Attributes& attributes) : node_(attributes), targets_(attributes.integers("targets")) {}

  void compute(Computation& computation) const {
    AttentionNode& node = node_;
    node.readScores(computation, 6);
    T* outputs[3] = {};
    for (std::size_t operand = 0; operand < 3; ++operand) {
      T*& output = outputs[targets_[operand]];
      if (output == nullptr) output = computation.output<T>(targets_[operand], computation.input<T>(1 + operand).shape);
    }
    const T* const gradient = computation.input<T>(0).data;
    const T* const result = computation.input<T>(4).data;
    const float* const statistics = computation.input<float>(5).data;
    computation.parallelFor(node.heads, [&](std::size_t head) {
      attentionGradient<T>(node.operands<T>(computation, 1, head), node.scores(head),
                           {node.rowsOf(result, node.result, head), node.rowsOf(gradient, node.result, head), statistics + 2 * head * node.queries,
                            statistics + (2 * head + 1) * node.queries},
                           {node.rowsOf(outputs[targets_[0]], node.query, head), node.rowsOf(outputs[targets_[1]], node.key, head),
                            node.rowsOf(outputs[targets_[2]], node.value, head)});
    });
  }

 private:
  mutable AttentionNode node_;
  std::vector<std::int64_t> targets_;
};

}  // namespace ringrun::ort
