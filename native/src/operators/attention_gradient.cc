#include "operators/attention.h"
#include "operators/attention_tiles.h"
#include "operators/weighted_rows.h"

namespace ringrun {
namespace {

#define RINGRUN_INLINE inline __attribute__((always_inline))

constexpr std::size_t kQueries = kQueriesOfBlock;
constexpr std::size_t kKeys = kKeysOfTile;

template <typename T>
struct GradientTile {
  const float* scores;     // [keys, kQueries]
  const float* slopes;     // gradients of the weights, likewise
  const float* factors;    // of dropout, likewise; null without
  const float* largest;    // scores, [kQueries]
  const float* inverses;   // of the sums of weights, likewise
  const float* deltas;     // [kQueries], Σ gradient·result
  std::size_t keys;
  std::size_t width;       // of the queries, a multiple of 16
  std::ptrdiff_t distance;  // query i attends to key j if i + distance ≥ j; large without causal attention
  float scale;             // of the products
  T* weights;              // [keys, kQueries]
  T* gradients;            // of the scores, likewise
  const Panels<T>* panels;  // the same, for products with keys
};

struct GradientOfScores {
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void run(const GradientTile<T>& given) {
    const GradientTile<T> tile = given;
    constexpr std::size_t kPair = kNumbersOfWord<T>;
    for (std::size_t first = 0; first < tile.width; first += kLanes) {
      Lanes<Bytes> largest, inverses, deltas;
      largest.load(tile.largest + first);
      inverses.load(tile.inverses + first);
      deltas.load(tile.deltas + first);
      T* const panel = tile.panels->panel(first / kLanes);
      for (std::size_t key = 0; key < tile.keys; key += kPair) {
        Lanes<Bytes> gradients[kPair];
        for (std::size_t k = 0; k < kPair; ++k) {
          if (key + k < tile.keys) {
            ofKey<Bytes>(tile, key + k, first, largest, inverses, deltas, gradients[k]);
          } else {
            gradients[k].fill(0);
          }
        }
        storeInPanel(gradients, panel + key * kLanes);
      }
    }
  }

 private:
  template <std::size_t Bytes, typename T>
  static RINGRUN_INLINE void ofKey(const GradientTile<T>& tile, std::size_t key, std::size_t first, const Lanes<Bytes>& largest,
                                   const Lanes<Bytes>& inverses, const Lanes<Bytes>& deltas, Lanes<Bytes>& gradients) {
    const std::size_t at = key * kQueries + first;
    Lanes<Bytes> weights, slopes;
    weights.load(tile.scores + at);
    for (std::size_t v = 0; v < weights.kVectors; ++v) weights[v] -= largest[v];
    exponentiate(weights);
    for (std::size_t v = 0; v < weights.kVectors; ++v) weights[v] *= inverses[v];
    fillLanes(weights, static_cast<std::ptrdiff_t>(key - first) - tile.distance, 0);
    slopes.load(tile.slopes + at);
    if (tile.factors != nullptr) {
      Lanes<Bytes> factors, dropped;
      factors.load(tile.factors + at);
      for (std::size_t v = 0; v < weights.kVectors; ++v) {
        dropped[v] = weights[v] * factors[v];
        slopes[v] *= factors[v];
      }
      dropped.store(tile.weights + at);
    } else {
      weights.store(tile.weights + at);
    }
    for (std::size_t v = 0; v < weights.kVectors; ++v) gradients[v] = weights[v] * (slopes[v] - deltas[v]) * tile.scale;
    gradients.store(tile.gradients + at);
  }
};

#undef RINGRUN_INLINE

// Memory of a thread.
template <typename T>
struct GradientMemory {
  LeftRows<T> keys, values;
  Aligned<T> keysTransposed;
  Panels<T> pairs;  // while keys are transposed
  Panels<T> queries, queriesTransposed, gradients, gradientsTransposed;
  Panels<T> ofScores;
  Aligned<float> scores, slopes, factors;
  Aligned<T> weights, scoreGradients;
  Aligned<float> ofQueries, ofQueriesTransposed, ofKeys, ofValues;
};

// Σ gradient·result of each query; 0 in the padding.
template <typename T>
void prepareDeltas(const AttentionResult<T>& result, std::size_t query, std::size_t rows, std::size_t size, float* deltas) {
  std::fill_n(deltas, kQueries, 0.0f);
  for (std::size_t row = 0; row < rows; ++row) {
    deltas[row] = innerProduct<T>(result.gradient[query + row], result.result[query + row], size);
  }
}

}  // namespace

template <typename T>
void attentionGradient(const AttentionOperands<T>& operands, const AttentionScores& given, const AttentionResult<T>& result,
                       const AttentionGradients<T>& to) {
  thread_local GradientMemory<T> m;
  const auto [queries, keys, size, valueSize, query_, key_, value_] = operands;
  const std::size_t width = roundedUp(size, kLanes);
  const std::size_t valueWidth = roundedUp(valueSize, kLanes);
  m.keys.set(key_, keys, size);
  m.values.set(value_, keys, valueSize);
  const std::size_t keyStride = transposedStride(keys);
  T* const keysTransposed = m.keysTransposed.resize(size * keyStride);
  transposeRows(key_, keys, size, m.pairs, keysTransposed);
  float* const ofKeys = m.ofKeys.resize(keys * width);
  float* const ofValues = m.ofValues.resize(keys * valueWidth);
  std::fill_n(ofKeys, keys * width, 0.0f);
  std::fill_n(ofValues, keys * valueWidth, 0.0f);
  float* const scores = m.scores.resize(kKeys * kQueries);
  float* const slopes = m.slopes.resize(kKeys * kQueries);
  T* const weights = m.weights.resize(kKeys * kQueries);
  T* const scoreGradients = m.scoreGradients.resize(kKeys * kQueries);
  float* const factors = given.dropout == nullptr ? nullptr : m.factors.resize(kKeys * kQueries);
  float* const ofQueriesTransposed = m.ofQueriesTransposed.resize(width * kQueries);
  m.ofScores.resize(kKeys, kQueries);
  if (factors != nullptr) std::fill_n(factors, kKeys * kQueries, 0.0f);

  for (std::size_t query = 0; query < queries; query += kQueries) {
    const std::size_t rows = std::min(kQueries, queries - query);
    const std::size_t panels = roundedUp(rows, kLanes) / kLanes;
    const std::size_t seen = given.seenBelow(query + rows, keys);
    const AttentionRows<const T> block{query_[query], query_.stride};
    const AttentionRows<const T> gradients{result.gradient[query], result.gradient.stride};
    m.queries.packRows(block, rows, size);
    m.queriesTransposed.packColumns(block, size, rows);
    m.gradients.packRows(gradients, rows, valueSize);
    m.gradientsTransposed.packColumns(gradients, valueSize, rows);
    // The weights of the padding are 0.
    float largest[kQueries] = {}, inverses[kQueries] = {}, deltas[kQueries];
    std::copy_n(result.largest + query, rows, largest);
    std::copy_n(result.inverseSums + query, rows, inverses);
    prepareDeltas(result, query, rows, valueSize, deltas);
    if (seen == 0) std::fill_n(ofQueriesTransposed, size * kQueries, 0.0f);

    for (std::size_t key = 0; key < seen; key += kKeys) {
      const std::size_t count = std::min(kKeys, seen - key);
      const auto keyRows = m.keys.rows();
      const auto valueRows = m.values.rows();
      multiplyTile<T>({m.queriesTransposed, 0, panels, 0, size}, {keyRows[key], keyRows.stride}, count, false, {scores, kQueries});
      multiplyTile<T>({m.gradientsTransposed, 0, panels, 0, valueSize}, {valueRows[key], valueRows.stride}, count, false, {slopes, kQueries});
      const AttentionTile tile{query, rows, key, count, keys};
      completeScores(given, tile, scores);
      if (factors != nullptr) dropoutFactorsOf(given, tile, factors);
      runVectorised<GradientOfScores>(GradientTile<T>{scores, slopes, factors, largest, inverses, deltas, count, panels * kLanes, tile.distance(given),
                                                      given.scale, weights, scoreGradients, &m.ofScores});
      multiplyTile<T>({m.gradients, 0, m.gradients.count(), 0, rows}, {weights, kQueries}, count, true, {ofValues + key * valueWidth, valueWidth});
      multiplyTile<T>({m.queries, 0, m.queries.count(), 0, rows}, {scoreGradients, kQueries}, count, true, {ofKeys + key * width, width});
      multiplyTile<T>({m.ofScores, 0, panels, 0, count}, {keysTransposed + key, keyStride}, size, key > 0, {ofQueriesTransposed, kQueries});
    }
    storeTransposed<T>(ofQueriesTransposed, rows, size, m.ofQueries, {to.query[query], to.query.stride});
  }
  storeRows<T>({ofKeys, width}, keys, size, to.key);
  storeRows<T>({ofValues, valueWidth}, keys, valueSize, to.value);
}

template void attentionGradient(const AttentionOperands<float>&, const AttentionScores&, const AttentionResult<float>&,
                                const AttentionGradients<float>&);
template void attentionGradient(const AttentionOperands<std::uint16_t>&, const AttentionScores&, const AttentionResult<std::uint16_t>&,
                                const AttentionGradients<std::uint16_t>&);

}  // namespace ringrun
