#include "operators/attention.h"

#include <limits>

#include "operators/attention_tiles.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The softmax of a tile, whose earlier tiles may have had smaller maxima. Rows are those of keys, kQueriesOfBlock apart.
template <typename T>
struct SoftmaxTile {
  const float* scores;
  const float* factors;      // of dropout; null without
  const Panels<T>* weights;  // exp(score − maximum) times the factors
  std::size_t keys;
  std::size_t width;         // of the queries, a multiple of 16
  std::ptrdiff_t distance;   // AttentionTile
  float* largest;            // of all tiles
  float* sums;
  float* results;            // of earlier tiles, transposed: `resultRows` rows; null in the first tile
  std::size_t resultRows;
};

struct UpdateSoftmax {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const SoftmaxTile<T>& given) {
    const SoftmaxTile<T> tile = given;
    for (std::size_t first = 0; first < tile.width; first += kLanes) {
      Lanes<Bytes> before, largest, base;
      before.load(tile.largest + first);
      largest = before;
      includeScores<Bytes>(tile, first, largest);
      largest.store(tile.largest + first);
      // A query with scores of −∞ so far has the weights 0, and NaN stays NaN.
      const typename Lanes<Bytes>::Numbers zeros{};
      for (std::size_t v = 0; v < base.kVectors; ++v) base[v] = largest[v] == -kInfinity ? zeros : largest[v];
      Lanes<Bytes> sums;
      sums.fill(0);
      storeWeights<Bytes>(tile, first, base, sums);
      if (tile.results != nullptr) {
        for (std::size_t v = 0; v < base.kVectors; ++v) before[v] -= base[v];
        exponentiate(before);
        Lanes<Bytes> x;
        x.load(tile.sums + first);
        for (std::size_t v = 0; v < x.kVectors; ++v) sums[v] += x[v] * before[v];
        for (std::size_t row = 0; row < tile.resultRows; ++row) {
          float* const at = tile.results + row * kQueriesOfBlock + first;
          x.load(at);
          for (std::size_t v = 0; v < x.kVectors; ++v) x[v] *= before[v];
          x.store(at);
        }
      }
      sums.store(tile.sums + first);
    }
  }

 private:
  // Lanes of queries that do not attend to a key, from the first on.
  template <typename T>
  static RINGRUN_INLINE std::ptrdiff_t hiddenOf(const SoftmaxTile<T>& tile, std::size_t key, std::size_t first) {
    return static_cast<std::ptrdiff_t>(key) - static_cast<std::ptrdiff_t>(first) - tile.distance;
  }

  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void includeScores(const SoftmaxTile<T>& tile, std::size_t first, Lanes<Bytes>& largest) {
    Lanes<Bytes> x;
    for (std::size_t key = 0; key < tile.keys; ++key) {
      x.load(tile.scores + key * kQueriesOfBlock + first);
      fillLanes(x, hiddenOf(tile, key, first), -kInfinity);
      for (std::size_t v = 0; v < x.kVectors; ++v) largest[v] = x[v] > largest[v] ? x[v] : largest[v];
    }
  }

  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void storeWeights(const SoftmaxTile<T>& tile, std::size_t first, const Lanes<Bytes>& base, Lanes<Bytes>& sums) {
    constexpr std::size_t kPair = kNumbersOfWord<T>;
    T* const panel = tile.weights->panel(first / kLanes);
    for (std::size_t key = 0; key < tile.keys; key += kPair) {
      Lanes<Bytes> weights[kPair];
      for (std::size_t k = 0; k < kPair; ++k) {
        if (key + k >= tile.keys) {
          weights[k].fill(0);
          continue;
        }
        const std::size_t at = (key + k) * kQueriesOfBlock + first;
        Lanes<Bytes>& x = weights[k];
        x.load(tile.scores + at);
        for (std::size_t v = 0; v < x.kVectors; ++v) x[v] -= base[v];
        exponentiate(x);
        fillLanes(x, hiddenOf(tile, key + k, first), 0);
        for (std::size_t v = 0; v < x.kVectors; ++v) sums[v] += x[v];
        if (tile.factors == nullptr) continue;
        Lanes<Bytes> factors;
        factors.load(tile.factors + at);
        for (std::size_t v = 0; v < x.kVectors; ++v) x[v] *= factors[v];
      }
      storeInPanel(weights, panel + key * kLanes);
    }
  }
};

struct ScaleRows {
  template <std::size_t Bytes>
  static RINGRUN_INLINE void run(float* results, std::size_t rows, const float* factors) {
    for (std::size_t row = 0; row < rows; ++row) {
      float* const at = results + row * kQueriesOfBlock;
      for (std::size_t i = 0; i < kQueriesOfBlock; ++i) at[i] *= factors[i];
    }
  }
};

#undef RINGRUN_INLINE

// Memory of a thread.
template <typename T>
struct ForwardMemory {
  LeftRows<T> keys;
  Panels<T> pairs;  // while values are transposed
  Aligned<T> valuesTransposed;
  Panels<T> queries;
  Panels<T> weights;
  Aligned<float> scores, factors, results, rows;
};

}  // namespace

template <typename T>
void attend(const AttentionOperands<T>& operands, const AttentionScores& given, std::size_t begin, std::size_t end, AttentionRows<T> result,
            const AttentionStatistics& statistics) {
  thread_local ForwardMemory<T> m;
  const std::size_t valueSize = operands.valueSize;
  const std::size_t keys = given.seenBelow(end, operands.keys);
  m.keys.set(operands.key, keys, operands.size);
  const AttentionRows<const T> keyRows = m.keys.rows();
  const std::size_t valueStride = transposedStride(keys);
  T* const values = m.valuesTransposed.resize(valueSize * valueStride);
  transposeRows(operands.value, keys, valueSize, m.pairs, values);
  m.weights.resize(kKeysOfTile, kQueriesOfBlock);
  float* const scores = m.scores.resize(kKeysOfTile * kQueriesOfBlock);
  float* const factors = given.dropout == nullptr ? nullptr : m.factors.resize(kKeysOfTile * kQueriesOfBlock);
  float* const results = m.results.resize(valueSize * kQueriesOfBlock);

  for (std::size_t query = begin; query < end; query += kQueriesOfBlock) {
    const std::size_t rows = std::min(kQueriesOfBlock, end - query);
    const std::size_t panels = roundedUp(rows, kLanes) / kLanes;
    const std::size_t seen = given.seenBelow(query + rows, keys);
    m.queries.packColumns({operands.query[query], operands.query.stride}, operands.size, rows);
    float largest[kQueriesOfBlock], sums[kQueriesOfBlock], inverses[kQueriesOfBlock];
    std::fill_n(largest, kQueriesOfBlock, -kInfinity);
    std::fill_n(sums, kQueriesOfBlock, 0.0f);
    if (seen == 0) std::fill_n(results, valueSize * kQueriesOfBlock, 0.0f);
    for (std::size_t key = 0; key < seen; key += kKeysOfTile) {
      const AttentionTile tile{query, rows, key, std::min(kKeysOfTile, seen - key), operands.keys};
      multiplyTile<T>({m.queries, 0, panels, 0, operands.size}, {keyRows[key], keyRows.stride}, tile.keys, false, {scores, kQueriesOfBlock});
      completeScores(given, tile, scores);
      if (factors != nullptr) dropoutFactorsOf(given, tile, factors);
      runVectorised<UpdateSoftmax>(SoftmaxTile<T>{scores, factors, &m.weights, tile.keys, panels * kLanes, tile.distance(given), largest, sums,
                                                  key == 0 ? nullptr : results, valueSize});
      multiplyTile<T>({m.weights, 0, panels, 0, tile.keys}, {values + key, valueStride}, valueSize, key > 0, {results, kQueriesOfBlock});
    }
    for (std::size_t row = 0; row < rows; ++row) {
      // Without a mask, a sum of 0 is that of scores of −∞, whose result is NaN.
      const bool isBlocked = sums[row] == 0 && (given.hasMask() || seen == 0);
      inverses[row] = isBlocked ? 0 : 1 / sums[row];
      if (statistics.largest == nullptr) continue;
      // Without −∞, from which a score of −∞ has no difference.
      statistics.largest[query + row] = isBlocked ? 0 : largest[row];
      statistics.inverseSums[query + row] = inverses[row];
    }
    std::fill(inverses + rows, inverses + kQueriesOfBlock, 0.0f);
    runVectorised<ScaleRows>(results, valueSize, inverses);
    storeTransposed<T>(results, rows, valueSize, m.rows, {result[query], result.stride});
  }
}

template void attend(const AttentionOperands<float>&, const AttentionScores&, std::size_t, std::size_t, AttentionRows<float>, const AttentionStatistics&);
template void attend(const AttentionOperands<std::uint16_t>&, const AttentionScores&, std::size_t, std::size_t, AttentionRows<std::uint16_t>,
                     const AttentionStatistics&);

}  // namespace ringrun
