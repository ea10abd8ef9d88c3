#pragma once

#include <cstddef>
#include <cstdint>

#include "operators/dropout.h"

// softmax(scale·Q·Kᵀ + mask)·V of one head and its gradient, in tiles of queries × keys (Dao, "FlashAttention-2", 2023).
// The weights are not kept: the gradient computes them again. Tiles that causal
// attention hides are skipped.
//
// T is float, or std::uint16_t for bfloat16: then products multiply bfloat16 numbers, the weights among them, and sum in
// float32.

namespace ringrun {

// Row i is at data + i·stride.
template <typename T>
struct AttentionRows {
  T* data;
  std::size_t stride;

  T* operator[](std::size_t row) const { return data + row * stride; }
};

// Which keys a query attends to, and by which weights.
struct AttentionScores {
  float scale;
  // Query i attends only to keys 0 to i.
  bool isCausal;
  // The mask at query i and key j is at i·maskQueryStride + j·maskKeyStride. At most one is not null: numbers added to the
  // scores, or flags that are 0 where a query must not attend to a key.
  const float* added = nullptr;
  const std::uint8_t* allowed = nullptr;
  std::size_t maskQueryStride = 0;
  std::size_t maskKeyStride = 0;
  // Null without dropout. The weight of query i and key j is element firstWeight + i·keys + j.
  const DropoutMask* dropout = nullptr;
  std::uint64_t firstWeight = 0;

  bool hasMask() const { return added != nullptr || allowed != nullptr; }

  // The number of keys that queries below `query` attend to.
  std::size_t seenBelow(std::size_t query, std::size_t keys) const { return isCausal && query < keys ? query : keys; }
};

template <typename T>
struct AttentionOperands {
  std::size_t queries;
  std::size_t keys;
  std::size_t size;       // of a query and of a key
  std::size_t valueSize;
  AttentionRows<const T> query;
  AttentionRows<const T> key;
  AttentionRows<const T> value;
};

// For each query, the largest score and 1 / Σ exp(score − largest), from which the gradient computes the weights again: 0 and
// 0 for a query that attends to no key. A sum's logarithm would have the rounding error of a large score.
struct AttentionStatistics {
  float* largest = nullptr;
  float* inverseSums = nullptr;
};

// For queries from `begin` below `end`: the rows of the result, 0 for a query that attends to no key, and, unless null, the
// statistics.
template <typename T>
void attend(const AttentionOperands<T>& operands, const AttentionScores& scores, std::size_t begin, std::size_t end, AttentionRows<T> result,
            const AttentionStatistics& statistics);

template <typename T>
struct AttentionResult {
  AttentionRows<const T> result;
  AttentionRows<const T> gradient;
  const float* largest;
  const float* inverseSums;
};

template <typename T>
struct AttentionGradients {
  AttentionRows<T> query;
  AttentionRows<T> key;
  AttentionRows<T> value;
};

template <typename T>
void attentionGradient(const AttentionOperands<T>& operands, const AttentionScores& scores, const AttentionResult<T>& result,
                       const AttentionGradients<T>& to);

}  // namespace ringrun
